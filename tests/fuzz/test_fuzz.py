"""A short run of the fuzzer: every dialect, the same lines each time; `make fuzz` runs 100,000 of them."""

import random

import pytest

from integrator.decode.dialects import CHOSEN
from tests.fuzz import units
from tests.fuzz.check import Checker
from tests.fuzz.mutate.json_lines import MUTATIONS
from tests.fuzz.setups import SETUPS

SEED, LINES = 20261123, 100


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_a_line_becomes_its_rows_or_an_error_with_file_and_line(setup, tmp_path):
    checker = Checker(setup, tmp_path, random.Random(SEED))
    made = [units.unit(setup, SEED, number) for number in range(LINES)]
    defects = [*checker.seeds(), *checker.check(made)]
    assert [(one.kind, one.line, one.got, one.expected) for one in defects] == []
    assert checker.counts["rows equal"] > LINES // 10
    assert checker.counts["errors right"] > LINES // 10


def test_every_dialect_is_fuzzed():
    others = {"auto", "cloudevents"}  # whose events are debezium's otherwise written: test_debezium reads them so
    assert {setup.dialect for setup in SETUPS} == set(CHOSEN) - others
    assert len(MUTATIONS) > 10
