"""Values that a database has and messages have not: null and counted, text, or an error with a remedy (I4)."""

# ruff: noqa: F811 - fixtures of another file

import json

import pytest
from structlog.testing import capture_logs

from integrator.contracts.fragments import WITHOUT_FORM
from integrator.errors import DataError
from tests.broker.test_postgres_capture import channel, database, rows_of  # noqa: F401 - fixtures
from tests.parts import kafka_io, postgres

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False)),
]
VALUES = {
    # the type; a value that messages have; one that they do not have
    "a": ("float8", "1.5", "NaN"),
    "b": ("float4", "-2", "-Infinity"),
    "c": ("date", "2026-01-01", "infinity"),
    "d": ("timestamp", "2026-01-01 10:00:00", "0044-03-15 12:00:00 BC"),
    "e": ("timestamptz", "2026-01-01 10:00:00+00", "-infinity"),
    "f": ("time", "10:00:00", "24:00:00"),
    "g": ("int[]", "{1}", "[0:1]={5,6}"),
    "h": ("int[]", "{2}", "{{1,2},{3,4}}"),
    "i": ("numeric(9,2)", "1.25", "NaN"),
    "j": ("date", "2026-01-02", "20000-01-01"),
    "k": ("float8[]", "{1.5}", "{1,NaN}"),
}


@pytest.fixture(scope="module")
def server():
    with postgres.from_pypi() as found, postgres.cluster(found=found) as started:
        yield started


@pytest.fixture
def table(database):
    columns = ", ".join(f"{name} {kind} not null" for name, (kind, *_) in VALUES.items())
    database.run(f"create table t (n int primary key, {columns}); create table other (n int primary key)")

    def add(number, which):
        values = ", ".join(f"'{value[which]}'" for value in VALUES.values())
        database.run(f"insert into t values ({number}, {values}); insert into other values ({number})")

    return add


def test_i4_a_value_that_messages_do_not_have_is_null_and_counted(table, broker, channel, integrate_once, name):
    """From the table, and from the log."""
    table(1, 1)
    table(2, 2)
    path = channel(location=', values_without_form: "null"')
    with capture_logs() as first:
        integrate_once(path)
    table(3, 2)
    table(4, 1)
    with capture_logs() as second:
        integrate_once(path)
    rows = rows_of(broker, f"{name}.t", f"{name}.other")
    assert [row["n"] for row in rows[f"{name}.other"]] == [1, 2, 3, 4]
    found = {row["n"]: [row[name] for name in VALUES] for row in rows[f"{name}.t"]}
    assert found[2] == found[3] == [None] * len(VALUES)
    assert found[1] == found[4]
    assert None not in found[1]
    for logs in (first, second):
        told = json.dumps([one for one in logs if one["event"] == "cycle synced"])
        for column in VALUES:
            assert f"null for values that the type lacks: public.t.{column}" in told
    headers = {json.loads(one.value)["n"]: one.headers for one in kafka_io.read_all(broker.servers, [f"{name}.t"])}
    named = ((WITHOUT_FORM, ",".join(VALUES).encode()),)
    assert headers == {1: (), 2: named, 3: named, 4: ()}


def test_values_are_text_where_the_location_says_so(table, broker, channel, integrate_once, name):
    table(1, 2)
    integrate_once(channel(location=", values_without_form: text"))
    [row] = rows_of(broker, f"{name}.t")[f"{name}.t"]
    assert {name: row[name] for name in VALUES} == {name: value[2] for name, value in VALUES.items()}


def test_values_stop_the_channel_by_default_and_the_error_says_what_helps(table, channel, integrate_once):
    table(1, 2)
    with pytest.raises(
        DataError, match=r"in the row with n = \"?\d\"?; .*text_columns: \[public\.t\.\w\] .*values_without_form: null"
    ):
        integrate_once(channel())


def test_a_key_is_never_null(database, broker, channel, integrate_once, name):
    database.run("create table t (n date primary key); insert into t values ('infinity')")
    with pytest.raises(DataError, match=r"text_columns: \[public\.t\.n\]"):
        integrate_once(channel(location=', values_without_form: "null"'))
