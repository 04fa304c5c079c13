"""Tests of several databases run with one of them in `make test`, another one by another seed."""

from tests.parts import products

ALONE = ["t.py::test_a", "t.py::test_b[avro]", "t.py::test_b[json]", "t.py::test_mysql", "t.py::test_mariadb"]
ALIKE = [f"t.py::test_c[{product}-{case}]" for product in ("mysql", "mariadb", "postgres") for case in ("x", "y")]


def test_each_case_is_kept_with_one_product():
    left_out = products.others([*ALONE, *ALIKE], 1)
    assert len(left_out) == 4
    assert not left_out & {*ALONE}
    kept = {one.rpartition("-")[2] for one in ALIKE if one not in left_out}
    assert kept == {"x]", "y]"}


def test_seeds_choose_every_product():
    kept = {one for seed in range(30) for one in ALIKE if one not in products.others(ALIKE, seed)}
    assert kept == {*ALIKE}
    assert products.others(ALIKE, 5) == products.others(reversed(ALIKE), 5)
