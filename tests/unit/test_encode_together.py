"""Tables that differ in their names only are parsed and encoded together: nothing of that can be seen in messages."""

import json
import random

import pytest

from integrator.arrow.arrays import FEW_ROWS
from integrator.decode.contract import Reading
from integrator.decode.rows import runs as decode_rows
from integrator.encode import batch
from integrator.encode.batch import encoders_of
from integrator.errors import DataError, IntegratorError
from tests.parts import pure
from tests.unit.test_any_channel import OP, TIMEKEY, changes

DDL = "".join(f"create table {name}(k int primary key, v varchar(9), big text);" for name in "abcd")
OTHER = DDL + "create table other(k int primary key, v varchar(9), big varchar(30));"
EXTRA = "{{action: ColumnProperties, Name: more, Extra: true, Datatype: text, IntegrateExpression: '{}'}}"
JSON = "Json: true, JsonMode: ROW_FRAGMENTS"

SETTINGS = {
    # name: FileFormat, actions, what the Kafka location says
    "as they are": (JSON, [], ""),
    "every operation": (JSON, [OP, TIMEKEY], ""),
    "both rows of a change": (JSON, [OP, TIMEKEY], ", Kafka_Message_Bundling: CHANGE"),
    "transactions": (JSON, [OP, TIMEKEY], ", Kafka_Message_Bundling: TRANSACTION"),
    "thresholds": ("Json: true, JsonMode: TABLE_ARRAY", [], ", Kafka_Message_Bundling: THRESHOLD"),
    "old values": (f"{JSON}, BeforeUpdateColumns: old_", [OP, TIMEKEY], ""),
    "an envelope": ("Json: true, Envelope: DEBEZIUM", [], ", Missing_Values: 'NULL'"),
    "with the schema": ("Json: true", [], ""),
    "CSV": ("Csv: true, HeaderLine: true", [], ", Missing_Values: 'NULL'"),
    "XML": ("Xml: true", [], ""),
    "Avro": ("Avro: true, BlockCompress: NONE", [], ", Missing_Values: 'NULL'"),
    "tombstones": (JSON, ["{action: Integrate, OnDeleteSendTombstone: true, MessageKey: '{k}'}"], ""),
    "tables' names in columns": (JSON, [EXTRA.format("{hvr_tbl_name}")], ""),
    "tables' names in SQL": (JSON, [EXTRA.format("sql: upper(hvr_tbl_name)")], ""),
    "tables' names in headers": (JSON, ["{action: Integrate, MessageHeaders: 't={hvr_tbl_name};k={k}'}"], ""),
    "typed headers": (
        JSON,
        ["{action: Integrate, MessageHeaders: 't={hvr_tbl_name};k={k}', MessageHeaderSerializer: CONNECT}"],
        "",
    ),
    "a text": ("Text: '{k};{hvr_tbl_name}'", [], ""),
    "tables' names in keys": (JSON, ["{action: Integrate, MessageKey: '{hvr_tbl_base_name} {k}'}"], ""),
    "numbers of rows": (JSON, [EXTRA.format("{hvr_integ_key} {hvr_row_uuid}")], ""),
    "one table otherwise": (JSON, [EXTRA.format("{v}").replace("Name", "table: b, Name")], ""),
    "captured otherwise": (JSON, ["{action: Capture, AugmentIncomplete: ALL, table: c}"], ""),
    "names of what is missing": ("Csv: true", [EXTRA.format("{hvr_missing}")], ", Missing_Values: 'NULL'"),
    "misfits, counted": (JSON, ["{action: TableProperties, CoerceErrorPolicy: WARNING}"], ""),
}


def outcome(recipe, path):
    """The messages, in order within each topic, and the notes; or what is wrong."""
    try:
        found, notes = pure.fragments(recipe, path)
        sent = pure.unpacked(pure.bundled(recipe, found))
    except IntegratorError as error:
        return str(error)
    topics = sorted({message.topic for message in sent})
    return [message for topic in topics for message in sent if message.topic == topic], notes


def both(recipe, path, monkeypatch):
    """What comes of tables together, and of each alone by its own recipe, in blocks of its own."""
    joint = outcome(recipe, path)
    with monkeypatch.context() as patch:
        patch.setattr(batch, "_without_name", lambda _table: None)
        patch.setattr(decode_rows, "FEW_ROWS", 0)
        encoders_of.cache_clear()
        alone = outcome(recipe, path)
    encoders_of.cache_clear()
    return joint, alone


def records_of(chance):
    records = []
    for name in ("a", "b", "c", "d", "other"):
        records += [{"hvr_tbl_name": name, **record} for record in changes(chance)[0]]
    return sorted(records, key=lambda record: int(record["hvr_tx_seq"], 16))


@pytest.mark.parametrize("topic", ["one", "{hvr_tbl_name}"])
@pytest.mark.parametrize("name", SETTINGS)
def test_messages_are_the_same(name, topic, tmp_path, monkeypatch):
    said, actions, kafka = SETTINGS[name]
    text = "".join(f"  - {action}\n" for action in (f"{{action: FileFormat, {said}}}", *actions))
    made = pure.recipe(tmp_path, OTHER, text, kafka=f'{kafka}, Kafka_Default_Topic: "{topic}"')
    for seed in range(2):
        path = pure.hvr(tmp_path, *records_of(random.Random(seed)))
        joint, alone = both(made, path, monkeypatch)
        assert joint == alone
        assert not isinstance(joint, str)
        with monkeypatch.context() as patch:  # blocks end between the rows of updates
            patch.setattr(Reading, "block_bytes", 400)
            assert outcome(made, path)[0] == joint[0]


REGISTRY = ", Kafka_Schema_Registry: 'http://x'"


@pytest.mark.parametrize("kafka", ["", REGISTRY, f"{REGISTRY}, Kafka_Schema_Registry_Format: PROTOBUF"])
def test_what_debezium_has_for_values_that_are_not_there(kafka, tmp_path, monkeypatch):
    """Deletes with the key alone, of columns that may not be null; two tables have other defaults."""
    ddl = "".join(
        f"create table {name}(k int primary key, v varchar(9) not null {default}, big text not null, n int);"
        for name, default in (("a", ""), ("b", ""), ("c", "default 'x'"), ("d", "default 'y'"))
    )
    made = pure.recipe(tmp_path, ddl, "  - {action: FileFormat, Envelope: DEBEZIUM}\n", kafka=kafka)
    whole = {"v": "1", "big": "2", "n": 3}
    rows = [{"hvr_tbl_name": name, "hvr_op": 0, "k": k} | (whole if k else {}) for k in (0, 1) for name in "abcd"]
    rows += [{"hvr_tbl_name": name, "hvr_op": 5} for name in "ab"]
    joint, alone = both(made, pure.hvr(tmp_path, *rows), monkeypatch)
    assert not isinstance(joint, str)
    assert joint == alone
    if not kafka:
        values = {
            one.topic: json.loads(one.value)["payload"]["before"]
            for one in joint[0]
            if one.value and b'"k":0' in one.value
        }
        assert [values[name]["v"] for name in "abcd"] == ["", "", "x", "y"]


@pytest.mark.parametrize("policy", ["DEAD_LETTER, Dead_Letter_Topic: dead", "SKELETON"])
def test_rows_above_the_maximum(policy, tmp_path, monkeypatch):
    kafka = f", Oversized_Rows: {policy}"
    made = pure.recipe(tmp_path, DDL, f"  - {{action: FileFormat, {JSON}}}\n", kafka=kafka)
    rows = [{"hvr_tbl_name": name, "k": 1, "v": "x", "big": "y" * (2_000_000 if name == "c" else 9)} for name in "abcd"]
    joint, alone = both(made, pure.hvr(tmp_path, *rows), monkeypatch)
    assert joint == alone
    assert {message.topic for message in joint[0]} == ({"a", "b", "d", "dead"} if "DEAD" in policy else set("abcd"))


WRONG = [
    ({"k": "no number"}, "table c, column k: 'no number' is no integer"),
    ({"k": 1, "of": "nothing"}, "table c: column 'of' is not in its definition"),
    ({"v": "no key"}, "table c: the record has no value for k"),
    ({"k": None}, "table c, column k: null, where the definition says not null"),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG)
def test_a_mistake_names_its_table_and_line(wrong, said, tmp_path, monkeypatch):
    made = pure.tables(tmp_path, DDL, [])
    rows = [{"hvr_tbl_name": name, **({"k": 1} if name != "c" else wrong)} for name in "abcdabd"]
    joint, alone = both(made, pure.hvr(tmp_path, *rows), monkeypatch)
    assert joint == alone
    assert said in joint
    assert "a.jsonl:3: " in joint


def test_unknown_columns_are_counted_table_by_table(tmp_path, monkeypatch):
    source = ", unknown_columns: ignore"
    made = pure.recipe(tmp_path, DDL, f"  - {pure.PLAIN}\n", source=source)
    rows = [{"hvr_tbl_name": name, "k": 1, "odd": 1 if name == "a" else "text"} for name in "abc"]
    joint, alone = both(made, pure.hvr(tmp_path, *rows), monkeypatch)
    assert joint == alone
    [note] = joint[1]
    assert note.warnings == {f"values of {name}.odd, which the table does not have": 1 for name in "abc"}


OF_B = ["{action: ColumnProperties, table: b, Name: v, IntegrateExpression: 'of {k}'}"]


@pytest.mark.parametrize("few_rows", [FEW_ROWS, 0], ids=["decoded together", "decoded alone"])
@pytest.mark.parametrize("actions", [[], OF_B], ids=["alike", "one otherwise"])
def test_tables_are_encoded_together(few_rows, actions, tmp_path, monkeypatch, together):
    """Or the tests above would show nothing."""
    monkeypatch.setattr(decode_rows, "FEW_ROWS", few_rows)
    made = pure.tables(tmp_path, OTHER, actions)
    pure.fragments(made, pure.hvr(tmp_path, *({"hvr_tbl_name": name, "k": 1} for name in ("b", "other", "a", "c"))))
    assert together == {"a", "c", "other"} | (set() if actions else {"b"})


def test_a_table_by_its_name_in_the_channel_and_in_the_source_is_in_order(tmp_path):
    made = pure.tables(tmp_path, DDL, ["{group: SOURCE, table: a, action: TableProperties, BaseName: x}"])
    names = ["a", "x", "b", "a"]
    rows = pure.read(made, pure.hvr(tmp_path, *({"hvr_tbl_name": name, "k": k} for k, name in enumerate(names))))
    assert [row["k"] for row in rows if row["k"] != 2] == [0, 1, 3]


def test_a_table_in_two_spellings_is_refused(tmp_path):
    made = pure.tables(tmp_path, DDL, [])
    with pytest.raises(
        DataError, match=r"a.jsonl:2: a change of table 'A', and changes of 'a' came before: both would"
    ):
        pure.read(made, pure.hvr(tmp_path, {"hvr_tbl_name": "a", "k": 1}, {"hvr_tbl_name": "A", "k": 2}))
