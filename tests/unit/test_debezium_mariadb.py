"""Debezium's MariaDB connector: events recorded from a real MariaDB in several settings."""

import json

import pytest

from integrator.plan import build
from tests.conftest import ROOT
from tests.parts import pure
from tests.unit.test_debezium import META, event, tables_of

RECORDED = ROOT / "tests" / "data" / "debezium-mariadb"
DDL = (RECORDED / "tables.sql").read_text()

PLAIN = "time_precision_mode: ADAPTIVE_TIME_MICROSECONDS"
SETTINGS = {
    "plain": (PLAIN, {"ubig"}),
    "with_schema": ("", set()),
    "plain_string": ("decimal_handling_mode: STRING, time_precision_mode: ISOSTRING", set()),
}
"""The modes, and the columns that are taken out of the events, since they cannot be read: see the last tests."""

BEYOND_BIGINT = {11, 12}
"""Rows of `types` with a bigint unsigned that Debezium itself writes as a negative number."""


def recipe(directory, dialect, modes="", ddl=DDL):
    (directory / "tables.sql").write_text(ddl)
    source = f"{dialect}, debezium: {{{modes}}}" if modes else dialect
    channel = directory / "channel.yaml"
    channel.write_text(
        f"""
channel: pure
locations:
  src: {{class: files, path: {directory}/in, dialect: {source}}}
  kaf: {{class: kafka, Kafka_Brokers: [localhost]}}
tables: [{{file: {directory}/tables.sql, sql_dialect: mysql}}]
actions:
  - {{action: Integrate, CycleByteLimit: 0}}
{META}
"""
    )
    return build(str(channel), "Europe/Berlin", None).recipe


def without(line, columns):
    value = json.loads(line)
    told = value and value.get("payload", value)
    for name in ("before", "after"):
        for column in columns if told and isinstance(told.get(name), dict) else ():
            told[name].pop(column, None)
    return json.dumps(value) + "\n"


def recorded(directory, name, columns=()):
    path = directory / f"{name}.jsonl"
    lines = (RECORDED / f"{name}.jsonl").read_text().splitlines(keepends=True)
    path.write_text("".join(without(line, columns) if columns else line for line in lines))
    return path


def oracle(directory):
    """The tables at the end, as MariaDB printed them, read as CSV by the hvr dialect."""
    tables = {}
    for name, rows in json.loads((RECORDED / "final.json").read_text()).items():
        path = directory / f"{name}.csv"
        quoted = [["" if v is None else '"' + v.replace('"', '""') + '"' for v in row.values()] for row in rows]
        head = ",".join([*rows[0], "hvr_op", "hvr_tx_seq", "hvr_tbl_name"])
        path.write_text("\n".join([head, *(",".join([*row, "1", "1", name]) for row in quoted)]) + "\n")
        tables |= tables_of(pure.read(recipe(directory, "hvr"), path))
    return tables


def made_and_expected(directory, name, modes, columns=()):
    rows = pure.read(recipe(directory, "debezium", modes), recorded(directory, name, columns))
    return tables_of(sorted(rows, key=lambda row: row["seq"])), oracle(directory)


@pytest.mark.parametrize("name", SETTINGS)
def test_recorded_events_make_the_tables_that_mariadb_has(name, tmp_path):
    modes, absent = SETTINGS[name]
    made, final = made_and_expected(tmp_path, name, modes, absent)
    assert made.keys() == ({"types"} if name == "with_schema" else {"types", "orders"})
    for table, rows in made.items():
        assert rows.keys() == final[table].keys()
        for key, expected in final[table].items():
            left_out = absent | {"bits"} | ({"ubig"} if table == "types" and key in BEYOND_BIGINT else set())
            compared = expected.keys() - left_out
            assert {c: rows[key][c] for c in compared} == {c: expected[c] for c in compared}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_position_is_told_once_and_follows_the_lines(name, tmp_path):
    modes, absent = SETTINGS[name]
    made = recipe(tmp_path, "debezium", modes)
    sent, _ = pure.fragments(made, recorded(tmp_path, name, absent))
    positions = sent["integ_seq"].to_pylist()
    assert len(positions) == len(set(positions)) > 10
    for table in sent["table"].unique().to_pylist():
        of_table = [row["integ_seq"] for row in sent.to_pylist() if row["table"] == table]
        assert of_table == sorted(of_table)


def test_what_is_no_change_is_counted(tmp_path):
    _, notes = pure.fragments(recipe(tmp_path, "debezium", PLAIN), recorded(tmp_path, "plain", {"ubig"}))
    lines = [event(line) for line in (RECORDED / "plain.jsonl").read_text().splitlines()]
    assert notes[0].not_sent == {
        "tombstones": lines.count(None),
        "transaction marks": sum("status" in line for line in lines if line),
        "schema changes": sum("ddl" in line for line in lines if line),
    }
    assert all(notes[0].not_sent.values())


def test_the_transaction_continues_in_the_next_file(tmp_path):
    pure.check_cuts(recipe(tmp_path, "debezium", PLAIN), recorded(tmp_path, "plain", {"ubig"}), 5)


def test_a_bigint_unsigned_without_a_schema(tmp_path):
    made, final = made_and_expected(tmp_path, "plain", PLAIN)
    for key in final["types"].keys() - BEYOND_BIGINT:
        assert made["types"][key]["ubig"] == final["types"][key]["ubig"]


def test_a_bigint_unsigned_of_four_digits_without_a_schema(tmp_path):
    line = next(line for line in (RECORDED / "plain.jsonl").read_text().splitlines() if '"ubig":1234,' in line)
    path = tmp_path / "f"
    path.write_text(line + "\n")
    [row] = pure.read(recipe(tmp_path, "debezium", PLAIN), path)
    assert row["ubig"] == 1234


@pytest.mark.parametrize("name", ["with_schema", "plain_string"])
def test_a_bigint_unsigned_beyond_a_bigint(name, tmp_path):
    made, final = made_and_expected(tmp_path, name, SETTINGS[name][0])
    assert {key: made["types"][key]["ubig"] for key in BEYOND_BIGINT} == {
        key: final["types"][key]["ubig"] for key in BEYOND_BIGINT
    }


@pytest.mark.parametrize("name", ["with_schema"])  # without one, nothing says that they are bits
def test_bits(name, tmp_path):
    modes, absent = SETTINGS[name]
    made, final = made_and_expected(tmp_path, name, modes, absent)
    assert {key: row["bits"] for key, row in made["types"].items()} == {
        key: row["bits"] for key, row in final["types"].items()
    }
