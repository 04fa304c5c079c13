"""Tests that have variants run with one of them in `make test`, with another one by another seed."""

from pathlib import Path

from tests.parts import nightly, variants

ALONE = ["t.py::test_a", "t.py::test_b[one]", "t.py::test_b[two]", "t.py::test_mysql", "t.py::test_mariadb"]
ALIKE = [f"t.py::test_c[{product}-{case}]" for product in ("mysql", "mariadb", "postgres") for case in ("x", "y")]


def test_each_case_is_kept_with_one_variant():
    left_out = variants.others([*ALONE, *ALIKE], 1)
    assert len(left_out) == 4
    assert not left_out & {*ALONE}
    kept = {one.rpartition("-")[2] for one in ALIKE if one not in left_out}
    assert kept == {"x]", "y]"}


def test_seeds_choose_every_variant():
    kept = {one for seed in range(30) for one in ALIKE if one not in variants.others(ALIKE, seed)}
    assert kept == {*ALIKE}
    assert variants.others(ALIKE, 5) == variants.others(reversed(ALIKE), 5)


def test_versions_guarantees_and_formats_are_variants():
    alike = [f"t.py::test_d[{one}-x]" for one in ("of this machine", "of PyPI")]
    alike += [f"t.py::test_e[x-{one}]" for one in ("at_least_once", "exactly_once")]
    alike += [f"t.py::test_f[{one}-1-x]" for one in ("connect-json", "json", "avro", "JSON_SCHEMA", "PROTOBUF")]
    assert len(variants.others(alike, 1)) == 6


def test_what_is_for_the_night_is_there():
    root = Path(__file__).parents[2]
    for one in nightly.NIGHTLY:
        path, _, function = one.partition("::")
        assert f"def {function}" in (root / path).read_text(encoding="utf-8"), one
