"""Tables that differ in their columns are encoded together: nothing of that can be seen in messages."""

import random
from dataclasses import replace

import pytest

from integrator.encode.frames.framing import Framing
from tests.parts import pure
from tests.unit.test_any_channel import OP, TIMEKEY
from tests.unit.test_encode_together import EXTRA, JSON, both

pytestmark = pytest.mark.engine

DDL = """
create table orders(k int primary key, placed timestamptz, note varchar(20), total decimal(12,2));
create table lines(k int primary key, amount int not null, done boolean, note varchar(40), ratio double, raw blob);
create table people(k int primary key, born date, at time, name text not null, tags varchar(9)[]);
create table twins(k int primary key, born date, at time, name text not null, tags varchar(9)[]);
create table pairs(k int, other varchar(9), total decimal(9,3), span interval, primary key (k, other));
create table bare(k int primary key);
"""
TEXTS = ["plain", "", 'with "quotes"', "back\\slash\nline", "ünï", None]
PEOPLE = {
    "born": ["1999-12-31", None],
    "at": ["12:30:00.5"],
    "name": TEXTS[:-1],
    "tags": [["a", None], [], None],
}
VALUES = {
    "orders": {
        "placed": ["2026-01-02T03:04:05Z", "2026-01-03T00:00:00Z", None],
        "note": TEXTS,
        "total": [1.25, -3, None],
    },
    "lines": {"amount": [0, -7], "done": [True, None], "note": TEXTS, "ratio": [0.1, 1e300, None], "raw": ["00ff"]},
    "people": PEOPLE,
    "twins": PEOPLE,
    "pairs": {"other": ["x", "é"], "total": [1.125, None], "span": ["P1M", None]},
    "bare": {},
}
ONE_KEY = {"orders", "lines", "people", "twins", "bare"}
EVERY = {*ONE_KEY, "pairs"}

TOMBSTONES = "{action: Integrate, OnDeleteSendTombstone: true}"
WHOLE = "{action: TableProperties, DistributionKeyLimit: 0}"
DELETED = "{action: ColumnProperties, Name: gone, Extra: true, Datatype: integer, SoftDelete: true}"
CAPTURED = "{{action: ColumnProperties, group: SOURCE, Name: {}}}"
TEXTS_FOR_LISTS = [
    f"{{action: ColumnProperties, table: {table}, Name: tags, Datatype: text}}" for table in ("people", "twins")
]
"""Lists may hold null, which Protobuf's cannot."""
NO_TOMBSTONES = "{action: Integrate, OnDeleteSendTombstone: false}"
REGISTRY = ", Kafka_Schema_Registry: 'http://127.0.0.1:9', Kafka_Schema_Registry_Format: {}"
SETTINGS = {
    # name: FileFormat, actions, what the Kafka location says, which tables are encoded together
    "as they are": (JSON, [], "", EVERY),
    "with the schema": ("Json: true", [], "", EVERY),
    "Connect's times": ("Json: true", [], ", Json_Times: CONNECT", EVERY),
    "Avro in a registry": ("", [], REGISTRY.format("AVRO"), EVERY),
    "JSON Schema": ("", [], REGISTRY.format("JSON"), EVERY),
    "every operation": (JSON, [OP, TIMEKEY], "", EVERY),
    "softly deleted": (JSON, [DELETED], "", EVERY),
    "both rows of a change": (JSON, [OP, TIMEKEY], ", Kafka_Message_Bundling: CHANGE", EVERY),
    "transactions": (JSON, [OP, TIMEKEY], ", Kafka_Message_Bundling: TRANSACTION", EVERY),
    "tombstones": (JSON, [TOMBSTONES, WHOLE], "", ONE_KEY),
    "tombstones and deleted rows": ("Json: true", [OP, TIMEKEY, TOMBSTONES, WHOLE], "", ONE_KEY),
    "a column as the key": (JSON, ["{action: Integrate, MessageKey: '{k}'}"], "", EVERY),
    "columns as the key": (JSON, ["{action: Integrate, MessageKeySerializer: JSON_ROW}"], "", ONE_KEY),
    "a column in a column": (JSON, [EXTRA.format("{k}-{hvr_op}")], "", EVERY),
    "a column in a header": (JSON, ["{action: Integrate, MessageHeaders: 'k={k}'}"], "", EVERY),
    "numbers of rows": (JSON, [EXTRA.format("{hvr_integ_key}")], "", EVERY),
    "one table otherwise": (JSON, [EXTRA.format("{k}").replace("Name", "table: orders, Name")], "", EVERY - {"orders"}),
    "other types": (
        JSON,
        ["{action: ColumnProperties, table: orders, Name: note, Datatype: varchar, Length: 99}"],
        "",
        EVERY,
    ),
    "other types of many tables": (
        JSON,
        [
            "{action: ColumnProperties, DatatypeMatch: 'decimal[prec>=1]', Datatype: text}",
            "{action: ColumnProperties, DatatypeMatch: timestamptz, Datatype: text}",
            "{action: TableProperties, TrimTime: MIDNIGHT}",
            "{action: ColumnProperties, DatatypeMatch: date, Datatype: timestamp}",
            "{action: ColumnProperties, Name: k, Datatype: bigint}",
            *TEXTS_FOR_LISTS,
        ],
        "",
        EVERY,
    ),
    "text as it is captured": (
        JSON,
        ["{action: TableProperties, TrimWhiteSpace: true, CharacterMapping: 'l>L;n>', TrimTime: 'YES'}"],
        "",
        EVERY,
    ),
    "text as it is captured, in keys and expressions": (
        "Json: true",
        [
            "{action: TableProperties, TrimWhiteSpace: true, CharacterMapping: 'x>X'}",
            EXTRA.format("<{note %[allow_missings]}>").replace("Name", "table: orders, Name"),
            "{action: ColumnProperties, table: pairs, Name: other, Datatype: text}",
        ],
        "",
        EVERY - {"orders"},
    ),
    "other types in Avro": (
        "",
        ["{action: ColumnProperties, DatatypeMatch: date, Datatype: text}", *TEXTS_FOR_LISTS],
        REGISTRY.format("AVRO"),
        EVERY,
    ),
    "some rows are kept": (JSON, ["{action: Restrict, CaptureCondition: '{k} < 4'}"], "", EVERY),
    "some rows are for here": (JSON, ["{action: Restrict, AddressTo: '{k}', AddressSubscribe: '2'}"], "", EVERY),
    "captured otherwise": (
        JSON,
        [OP, CAPTURED.format("k, CaptureExpression: 'sql: k * 10'"), "{action: Integrate, MessageKey: '{k}'}"],
        "",
        EVERY,
    ),
    "captured otherwise, and hashed": (
        JSON,
        [CAPTURED.format("k, CaptureExpression: 'sql: -k'")],
        "",
        {"people", "twins"},
    ),
    "columns that are cut": (
        JSON,
        ["{action: ColumnProperties, group: SOURCE, table: lines, Name: note, TrimDatatype: 4}"],
        "",
        EVERY - {"lines"},
    ),
    "Protobuf in a registry": ("", [DELETED, *TEXTS_FOR_LISTS], REGISTRY.format("PROTOBUF"), EVERY),
    "Debezium's envelope": ("Json: true, Envelope: DEBEZIUM", [OP, TIMEKEY], "", ONE_KEY),
    "Debezium's envelope in Avro": ("Envelope: DEBEZIUM", [NO_TOMBSTONES], REGISTRY.format("AVRO"), ONE_KEY),
    "Debezium's envelope in Protobuf": (
        "Envelope: DEBEZIUM",
        [*TEXTS_FOR_LISTS, NO_TOMBSTONES],
        REGISTRY.format("PROTOBUF"),
        ONE_KEY,
    ),
    "Debezium's envelope, captured otherwise": (
        "Json: true, Envelope: DEBEZIUM",
        [CAPTURED.format("k, CaptureExpression: 'sql: k * 10'"), "{action: Restrict, CaptureCondition: '{k} < 4'}"],
        "",
        ONE_KEY,
    ),
    "Conduit's records": ("Envelope: OPENCDC", [OP], "", ONE_KEY),
    "Airbyte's messages": ("Envelope: AIRBYTE", [], "", ONE_KEY),
    "old values": (f"{JSON}, BeforeUpdateColumns: old_", [OP, TIMEKEY], "", {"people", "twins"}),
    "names of keys": (JSON, [EXTRA.format("{hvr_key_names}")], "", {"people", "twins"}),
    "SQL": (JSON, [EXTRA.format("sql: k + 1")], "", EVERY),
    "SQL over keys": (JSON, [EXTRA.format("sql: upper(hvr_key_names)")], "", {"people", "twins"}),
    "names of what is missing": (JSON, [EXTRA.format("{hvr_missing}")], "", EVERY),
    "misfits, counted": (JSON, ["{action: TableProperties, CoerceErrorPolicy: WARNING}"], "", set()),
    "CSV": ("Csv: true", [], "", EVERY),
    "CSV with a header": ("Csv: true, HeaderLine: true, NullRepresentation: plain", [OP], "", EVERY),
    "XML": ("Xml: true", [OP], "", EVERY),
    "XML, compact": ("Xml: true, Compact: true", [TIMEKEY], ", Kafka_Message_Bundling: TRANSACTION", EVERY),
    "Avro's files": ("Avro: true", [OP], "", EVERY),
}


def records(chance, tables=tuple(VALUES)):
    """Inserts, updates and deletes, in transactions of any tables."""
    made = []
    for tx in range(1, 40):
        table = chance.choice(tables)
        at = {"hvr_tbl_name": table, "hvr_tx_seq": f"{tx:x}", "k": chance.randint(1, 6)}
        for op in chance.choice(((1,), (1, 1), (4, 2), (3, 2), (0,))):
            image = {name: chance.choice(values) for name, values in VALUES[table].items()}
            made.append({**at, "hvr_op": op, **image})
    return made


def channel(directory, setting, more=""):
    said, actions, kafka, _ = SETTINGS[setting]
    formats = (f"{{action: FileFormat, {said}}}",) if said else ()
    text = "".join(f"  - {action}\n" for action in (*formats, *actions))
    return pure.recipe(directory, DDL, text, kafka=f'{kafka}{more}, Kafka_Default_Topic: "{{hvr_tbl_name}}"')


@pytest.mark.parametrize("setting", SETTINGS)
def test_messages_are_the_same(setting, tmp_path, monkeypatch, together):
    made = channel(tmp_path, setting)
    for seed in range(2):
        path = pure.hvr(tmp_path, *records(random.Random(seed)))
        joint, alone = both(made, path, monkeypatch)
        assert not isinstance(joint, str), joint
        assert joint == alone
    assert together == SETTINGS[setting][-1]


def with_gaps(records, chance, left=0.8):
    """Deletes of which only the key is recorded, and other rows of which so much of their values is left."""
    for record in records:
        kept = 0 if record["hvr_op"] == 0 else left
        stays = {"hvr_tbl_name", "hvr_tx_seq", "hvr_op", "k", "other"}
        yield {name: value for name, value in record.items() if name in stays or chance.random() < kept}


TWO = "create table a(k int primary key, v int, x varchar(9)); create table b(k int primary key, v int, y int);"
A, B = {"hvr_tbl_name": "a", "hvr_tx_seq": "1"}, {"hvr_tbl_name": "b", "hvr_tx_seq": "2"}
FOUR = "{action: Restrict, CaptureCondition: '{v} < 4'}"
TEN_TIMES = "{action: ColumnProperties, group: SOURCE, Name: v, CaptureExpression: 'sql: k * 10'}"
ODD = {
    # definitions, FileFormat, actions, rows
    "an update that enters a condition fills a value": (
        TWO,
        JSON,
        [FOUR],
        [
            {**A, "hvr_op": 3, "k": 1, "v": 9, "x": "old"},
            {**A, "hvr_op": 2, "k": 1, "v": 1},
            {**B, "k": 1, "v": 1, "y": 5},
        ],
    ),
    "what stands for a missing uuid": (
        TWO.replace("v int", "v uuid"),
        JSON,
        [EXTRA.format("{v %[allow_missings]}")],
        [{**A, "k": 1, "x": "q"}, {**B, "k": 1, "y": 1}],
    ),
    "what stands for missing JSON in a key": (
        TWO.replace("v int", "v json"),
        JSON,
        ["{action: Integrate, MessageKey: '{v %[allow_missings]}'}"],
        [{**A, "k": 1, "x": "q"}, {**B, "k": 1, "y": 1}],
    ),
    "a tombstone without a column of its key": (
        "create table a(v int primary key, w int, x text); create table b(v int primary key, w int, t varchar(9)[]);",
        JSON,
        [
            "{action: Integrate, MessageKeySerializer: JSON_ROW, OnDeleteSendTombstone: true}",
            "{action: ColumnProperties, Name: w, Key: true}",
        ],
        [{**A, "v": 1, "w": 1}, {**B, "v": 1, "w": 3, "t": ["q"]}, {**B, "hvr_tx_seq": "3", "hvr_op": 0, "v": 1}],
    ),
    **{
        f"{envelope} in {file_format}": (
            TWO,
            f"{file_format}, Envelope: {envelope}",
            [NO_TOMBSTONES],
            [{**A, "k": 1, "v": 9, "x": "o"}, {**B, "k": 1, "v": 1, "y": 5}],
        )
        for file_format in ("Csv: true", "Xml: true", "Avro: true")
        for envelope in ("DEBEZIUM", "OPENCDC")
        if (file_format, envelope) != ("Avro: true", "OPENCDC")  # whose names Avro does not have
    },
    "a value does not fit another type": (
        TWO,
        JSON,
        ["{action: ColumnProperties, table: a, Name: x, Datatype: varchar, Length: 3}"],
        [{**A, "k": 1, "v": 9, "x": "long"}, {**B, "k": 1, "v": 9, "y": 5}],
    ),
    "an expression of a column that is absent": (
        TWO,
        JSON,
        [
            TEN_TIMES,
            "{action: ColumnProperties, group: '*', Name: v, Absent: true}",
            "{action: Integrate, MessageKey: '{k}'}",
        ],
        [{**A, "k": 1, "v": 9, "x": "e"}, {**B, "k": 1, "v": 9, "y": 5}],
    ),
    "an expression of a column that another one makes": (
        TWO,
        JSON,
        [
            TEN_TIMES,
            "{action: ColumnProperties, Name: v, IntegrateExpression: '{k}'}",
            "{action: Integrate, MessageKey: '{k}'}",
        ],
        [{**A, "k": 1, "v": 9, "x": "e"}, {**B, "k": 1, "v": 9, "y": 5}],
    ),
    "a row without any value": (
        "create table a(v int, x varchar(9)); create table b(v int, y int);",
        "Json: true",
        ["{action: Integrate, MessageKey: c}"],
        [{**A, "v": 1, "x": "e"}, B],
    ),
    "no row is kept, and one is wrong": (
        TWO.replace("x varchar(9)", "x varchar(9) not null"),
        JSON,
        [FOUR],
        [{**A, "k": 1, "v": 9, "x": None}, {**B, "k": 1, "v": 9, "y": 5}],
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_rows_are_the_same(case, tmp_path, monkeypatch):
    ddl, file_format, actions, rows = ODD[case]
    text = "".join(f"  - {action}\n" for action in (f"{{action: FileFormat, {file_format}}}", *actions))
    made = pure.recipe(tmp_path, ddl, text, kafka=', Kafka_Default_Topic: "{hvr_tbl_name}"')
    joint, alone = both(made, pure.hvr(tmp_path, *rows), monkeypatch)
    assert joint == alone


STRUCTS = (
    "create table a(k int primary key, s struct<x int, y timestamp>);"
    "create table b(k int primary key, s struct<x int, y timestamp>, v int);"
)
FINE, WHOLE_MS = {"x": 1, "y": "2026-01-02T03:04:05.000001"}, {"x": 1, "y": "2026-01-02T03:04:05.001"}
UNSENT = {
    # definitions, FileFormat, more of the Kafka location, actions, rows: all that are sent can be, others may be odd
    "a key longer than its definition": (
        "create table a(k varchar(3) primary key, v int); create table b(k varchar(3) primary key, y int);",
        JSON,
        "",
        ["{action: Integrate, MessageKeySerializer: JSON_ROW}"],
        [{**A, "k": "abcdef", "v": 1}, {**B, "k": "abcdef", "y": 1}],
    ),
    "a key longer than its definition, in envelopes": (
        "create table a(k varchar(3) primary key, v int); create table b(k varchar(3) primary key, y int);",
        f"{JSON}, Envelope: OPENCDC",
        "",
        [],
        [{**A, "k": "abcdef", "v": 1}, {**B, "k": "abcdef", "y": 1}],
    ),
    "a field that the format has no word for": (
        STRUCTS,
        "Json: true",
        ", Json_Times: CONNECT",
        [],
        [
            {**A, "k": 1, "s": WHOLE_MS},
            {**B, "hvr_op": 4, "k": 2, "s": FINE, "v": 1},
            {**B, "k": 2, "s": WHOLE_MS, "v": 2},
        ],
    ),
    "null in the before image alone": (
        "create table a(k int primary key, v int not null); create table b(k int primary key, v int not null, y int);",
        f"{JSON}, Envelope: OPENCDC",
        "",
        [],
        [{**A, "hvr_op": 4, "k": 1, "v": None}, {**A, "k": 2, "v": 1}, {**B, "k": 1, "v": 1, "y": 5}],
    ),
    **{
        f"a before image that Airbyte does not have lacks values: {file_format}": (
            TWO,
            f"{file_format}, Envelope: AIRBYTE",
            "",
            [],
            [{**A, "hvr_op": 4, "k": 1}, {**A, "hvr_op": 2, "k": 1, "v": 9, "x": "e"}, {**B, "k": 1, "v": 9, "y": 5}],
        )
        for file_format in ("Csv: true", "Avro: true", "Parquet: true")
    },
}


@pytest.mark.parametrize("case", UNSENT)
def test_what_is_not_sent_stops_no_other_row(case, tmp_path, monkeypatch):
    ddl, file_format, kafka, actions, rows = UNSENT[case]
    text = "".join(f"  - {action}\n" for action in (f"{{action: FileFormat, {file_format}}}", *actions))
    made = pure.recipe(tmp_path, ddl, text, kafka=f'{kafka}, Kafka_Default_Topic: "{{hvr_tbl_name}}"')
    joint, alone = both(made, pure.hvr(tmp_path, *rows), monkeypatch)
    assert joint == alone
    assert not isinstance(joint, str), joint


def test_a_field_of_a_struct_is_refused_with_its_row(tmp_path, monkeypatch):
    text = "  - {action: FileFormat, Json: true}\n"
    made = pure.recipe(tmp_path, STRUCTS, text, kafka=", Json_Times: CONNECT")
    rows = [{**A, "k": 1, "s": WHOLE_MS}, {**B, "hvr_op": 4, "k": 2}, {**B, "k": 2, "s": FINE, "v": 1}]
    joint, alone = both(made, pure.hvr(tmp_path, *rows), monkeypatch)
    assert joint == alone
    assert "a.jsonl:3: table b, column s.y: 2026-01-02 03:04:05.000001 is finer" in joint


PLACEHOLDERS = {
    # columns of the second table, its rows, and which tables are encoded together
    "text": ("t text", [{"hvr_op": 2, "k": 1, "y": 5}, {"hvr_op": 0, "k": 1}], {"a", "b"}),
    "text that may not be null": ("t text not null", [{"hvr_op": 2, "k": 1, "y": 5}], {"a", "b"}),
    "null where it may not be": ("t text not null", [{"k": 1, "y": 5, "t": None}, {"k": 2, "y": 5}], {"a", "b"}),
    "a uuid": ("t uuid", [{"hvr_op": 2, "k": 1, "y": 5}], {"a", "b"}),
    "bytes": ("t blob", [{"hvr_op": 2, "k": 1, "y": 5}], {"a", "b"}),
    "a list": ("t text[]", [{"hvr_op": 2, "k": 1, "y": 5}], {"a", "b"}),
    "a number": ("t text", [{"hvr_op": 2, "k": 1, "t": "x"}], set()),
    "a before image": ("t text", [{"hvr_op": 3, "k": 1, "y": 4, "t": "x"}, {"hvr_op": 2, "k": 1, "y": 5}], {"a", "b"}),
}


@pytest.mark.parametrize("case", PLACEHOLDERS)
@pytest.mark.parametrize("file_format", ["Json: true, ", ""])
def test_placeholders_stand_for_values_that_after_images_lack(case, file_format, tmp_path, monkeypatch, together):
    columns, rows, expected = PLACEHOLDERS[case]
    ddl = f"create table a(k int primary key, x varchar(9)); create table b(k int primary key, y int, {columns});"
    text = f"  - {{action: FileFormat, {file_format}Envelope: DEBEZIUM}}\n  - {NO_TOMBSTONES}\n"
    kafka = "" if file_format else REGISTRY.format("AVRO")
    made = pure.recipe(tmp_path, ddl, text, kafka=kafka + ', Kafka_Default_Topic: "{hvr_tbl_name}"')
    found = [{**A, "k": 1, "x": "q"}, {**A, "hvr_op": 2, "k": 2}, *({**B, **row} for row in rows)]
    joint, alone = both(made, pure.hvr(tmp_path, *found), monkeypatch)
    assert joint == alone
    assert together == expected


@pytest.mark.parametrize(
    "numbers",
    [(), (("tags", 4), ("k", 2), ("a", 7)), (("tags", 3), ("tags\0items", 5), ("?", 1)), (("b", 1), ("b\0items", 2))],
    ids=["new", "some", "inside", "of one table"],
)
def test_lists_in_protobuf_have_the_numbers_of_their_fields(numbers, tmp_path, monkeypatch, together):
    ddl = """
create table one(k int primary key, tags varchar(9)[], a int);
create table two(k int primary key, b int[] not null, tags varchar(9)[]);
"""
    kafka = REGISTRY.format("PROTOBUF") + ', Kafka_Default_Topic: "{hvr_tbl_name}"'
    made = pure.recipe(tmp_path, ddl, f"  - {NO_TOMBSTONES}\n", kafka=kafka)
    made = replace(made, tables=tuple(replace(table, numbers=numbers) for table in made.tables))
    rows = [
        {"hvr_tbl_name": name, "k": k, "tags": tags, **own}
        for k, tags in enumerate((["x", "y"], [], None))
        for name, own in (("one", {"a": 1}), ("two", {"b": [k, 2]}))
    ]
    joint, alone = both(made, pure.hvr(tmp_path, *rows), monkeypatch)
    assert not isinstance(joint, str), joint
    assert joint == alone
    assert together == {"one", "two"}


def test_frames_are_made_of_shapes_that_rows_have(tmp_path, monkeypatch):
    """And not of each table with the shapes of all others."""
    made, frame = [], Framing._made
    monkeypatch.setattr(Framing, "_made", lambda *of: made.append(of[1:]) or frame(*of))
    names = [f"t{at}" for at in range(30)]
    columns = [[f"c{at}_{place}" for place in range(6)] for at in range(30)]
    ddl = "".join(
        f"create table {name}(k int primary key, {', '.join(f'{one} int' for one in own)});"
        for name, own in zip(names, columns, strict=True)
    )
    rows = [
        {"hvr_tbl_name": name, "k": k, **{one: 1 for place, one in enumerate(own) if (at + k) >> place & 1}}
        for at, (name, own) in enumerate(zip(names, columns, strict=True))
        for k in range(2)
    ]
    pure.fragments(pure.recipe(tmp_path, ddl, ""), pure.hvr(tmp_path, *rows))
    assert len(made) <= len(rows) + len(names)


AS_NULL = ", Missing_Values: 'NULL'"
OF_ALL_VALUES = [
    "Avro in a registry",
    "Protobuf in a registry",
    "CSV",
    "CSV with a header",
    "Avro's files",
    "Debezium's envelope in Avro",
    "Debezium's envelope in Protobuf",
]
"""Settings with formats that cannot leave a value out."""


@pytest.mark.parametrize(
    ("setting", "missing", "left"),
    [
        *((setting, "", 0.8) for setting in SETTINGS),
        *((setting, AS_NULL, 0.8) for setting in OF_ALL_VALUES),
        *((setting, "", 1) for setting, (file_format, *_) in SETTINGS.items() if "Envelope" in file_format),
    ],
)
def test_messages_of_rows_that_lack_values_are_the_same(setting, missing, left, tmp_path, monkeypatch):
    """Or the first of a table is refused; of which table, where several have such, depends on which are together."""
    made = channel(tmp_path, setting, missing)
    for seed in range(2):
        chance = random.Random(seed)
        joint, alone = both(made, pure.hvr(tmp_path, *with_gaps(records(chance), chance, left)), monkeypatch)
        if isinstance(joint, str):
            assert "the record has no value" in joint
            assert "the record has no value" in alone
        else:
            assert joint == alone


GAPS = {
    # which tables are encoded together where each has rows that lack values
    "with the schema": EVERY,
    "as they are": EVERY,
    "XML": EVERY,
    "some rows are kept": {"people", "twins"},
    "Avro in a registry": EVERY,
    "SQL": EVERY,
    "names of what is missing": {"people", "twins"},
    "Conduit's records": ONE_KEY,
    "Debezium's envelope": ONE_KEY,
    "Debezium's envelope in Avro": ONE_KEY,
}


@pytest.mark.parametrize("setting", GAPS)
def test_rows_that_lack_values_are_encoded_together(setting, tmp_path, together):
    """Or the test above would show nothing."""
    chance = random.Random(1)
    left = 1 if "Debezium" in setting else 0.8  # placeholders stand for what is missing in other rows than deletes
    found = [row for row in with_gaps(records(chance), chance, left) if row["hvr_op"] != 3]
    made = channel(tmp_path, setting, AS_NULL if setting in OF_ALL_VALUES else "")
    pure.fragments(made, pure.hvr(tmp_path, *found))
    assert together == GAPS[setting]


WHOLE = [{"hvr_tbl_name": name, "k": 1, **{at: said[0] for at, said in VALUES[name].items()}} for name in VALUES]
OTHERWISE = {
    # what another row of one table is, and which tables are encoded together then
    "a value that is missing": ({"hvr_tbl_name": "orders", "k": 2, "placed": None}, EVERY),
    "values of no column but the key": ({"hvr_tbl_name": "lines", "hvr_op": 0, "k": 2}, EVERY),
    "a row for the whole table": ({"hvr_tbl_name": "lines", "hvr_op": 5}, EVERY),
    "a row for the whole table, in full": ({**WHOLE[1], "hvr_op": 5, "k": None}, EVERY),
}


@pytest.mark.parametrize("case", OTHERWISE)
def test_a_row_that_is_otherwise(case, tmp_path, monkeypatch, together):
    record, expected = OTHERWISE[case]
    made = channel(tmp_path, "every operation")
    joint, alone = both(made, pure.hvr(tmp_path, *WHOLE, record), monkeypatch)
    assert joint == alone
    assert together == expected


WRONG = [
    ({**WHOLE[1], "amount": None}, "table lines, column amount: null, where the definition says not null"),
    ({**WHOLE[0], "placed": "2026-01-02T03:04:05.000001Z"}, "table orders, column placed: 2026-01-02 03:04:05.000001Z"),
    ({**WHOLE[1], "raw": "00" * 2_000_000}, "table lines, key k=1: the message has"),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG)
def test_a_mistake_names_its_table_and_line(wrong, said, tmp_path, monkeypatch):
    made = channel(tmp_path, "Connect's times")
    joint, alone = both(made, pure.hvr(tmp_path, *WHOLE, wrong), monkeypatch)
    assert joint == alone
    assert f"a.jsonl:7: {said}" in joint
