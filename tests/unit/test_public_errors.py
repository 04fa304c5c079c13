"""What is wrong with records, as the status page shows it: names, types and positions, and never a value of a row."""

import json

import pytest

from integrator.errors import DataError, IntegratorError, ProcessLate, PublicDataError, TooManyRejected, from_wire
from integrator.run.seen import failure
from integrator.run.seen.failures import Failures
from integrator.run.seen.observer import Observer
from tests.parts import pure

VALUE = "Pl4nted-value"
DDL = "create table orders(id int primary key, note text);"


def hvr(**members):
    return json.dumps({"hvr_tbl_name": "orders", "hvr_op": 1, "hvr_tx_seq": "1", "id": 1, "note": VALUE, **members})


def wal(position, names=("id", "note"), values=(1, VALUE)):
    change = {"kind": "insert", "schema": "public", "table": "orders", "columnnames": names, "columnvalues": values}
    types = ["integer"] * len(names)
    return json.dumps({"xid": 1, "nextlsn": position, "change": [{**change, "columntypes": types}]})


CASES = [
    # what is wrong, dialect, lines, whether everybody may see the text
    ("a column that is not defined", "hvr", [hvr(other=VALUE)], True),
    ("a table that is not defined", "hvr", [hvr(hvr_tbl_name="customers")], True),
    ("a dialect that cannot be told", "auto", [json.dumps({"what": VALUE, "is": VALUE})], True),
    ("positions that go back", "wal2json", [wal("0/9"), wal("0/2")], True),
    ("a key column twice in one image", "wal2json", [wal("0/2", ("id", "id"), (1, 2))], True),
    ("a value of another type", "hvr", [hvr(id=VALUE)], False),
    ("no JSON", "hvr", [hvr()[:-1]], False),
    ("an operation that is none", "hvr", [hvr(hvr_op=VALUE)], False),
]  # fmt: skip


def raised(directory, dialect, lines):
    source = "" if dialect == "auto" else dialect
    made = pure.recipe(directory, DDL, f"  - {pure.PLAIN}\n", dialect=source or "hvr")
    if not source:
        text = (directory / "channel.yaml").read_text().replace("dialect: hvr", "dialect: auto")
        (directory / "channel.yaml").write_text(text)
        made = pure.build(str(directory / "channel.yaml"), "UTC").recipe
    path = directory / "a.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(DataError) as error:
        pure.fragments(made, path)
    return error.value


@pytest.mark.parametrize(("dialect", "lines", "public"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_which_texts_have_values_is_known_where_they_are_made(dialect, lines, public, tmp_path):
    """Every text of a data error was withheld: nobody saw on the page that a column was not defined."""
    error = raised(tmp_path, dialect, lines)
    assert (not error.has_values, isinstance(error, PublicDataError)) == (public, public)
    assert not (public and VALUE in str(error))
    Failures(tmp_path, "c", pure.RunOptions().secrets, Observer()).final(error)
    assert failure.read(tmp_path).has_values != public


@pytest.mark.parametrize("kind", [DataError, PublicDataError, TooManyRejected, ProcessLate])
def test_an_error_that_crosses_is_of_the_same_class(kind):
    found = from_wire(f"a trace: {kind('x').to_wire()} at y")
    assert (type(found), str(found)) == (kind, "x")
    assert isinstance(found, IntegratorError)
