"""What a substitution depends on is declared with it: what is done for tables at once goes by that."""

import pytest

from integrator.expressions.parse import parse, sql
from integrator.expressions.parts import depends_on
from integrator.expressions.substitutions import SUBSTITUTIONS
from integrator.schema import Column, Integer, Table

pytestmark = pytest.mark.fast

TABLE = Table("t", "t", "s", (Column("k", Integer(32)),), ("k",))
CASES = [
    ("{hvr_op}", "row"),
    ("{k}", None),
    ("a constant", None),
    ("{hvr_tbl_name}-{k}", "table"),
    ("{hvr_schema}", "table"),
    ("{hvr_row_uuid}", "table"),
    ("{hvr_key_names ,}", "columns"),
    ("{hvr_tx_countdown}", "transaction"),
    ("{hvr_integ_tstamp}", "run"),
]


@pytest.mark.parametrize(("text", "what"), CASES)
def test_an_expression_depends_on_what_its_substitutions_do(text, what):
    parts = parse(text, TABLE, "IntegrateExpression")
    for other in ("transaction", "table", "columns"):
        assert depends_on(parts, other) == (other == what)
    assert what is None or depends_on(parts, what)


def test_sql_depends_on_the_substitutions_in_it():
    part = sql("hvr_tbl_name || k", TABLE, "IntegrateExpression")
    assert depends_on([part], "table")
    assert not depends_on([part], "transaction")


def test_every_substitution_declares_something():
    assert all(one.depends_on for one in SUBSTITUTIONS.values())
