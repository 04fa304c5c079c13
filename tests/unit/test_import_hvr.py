"""`import hvr`: HVR's datatypes, actions and locations, one by one, in both forms of its definitions."""

import json

import pytest

from integrator.imports import hvr_types, hvr_xml
from integrator.imports.hvr_definition import HvrColumn
from tests.parts import imports

KAFKA = {"Class": "kafka", "Kafka_Brokers": [{"host": "b1", "port": 9092}]}
COLUMNS = {
    "id": {"sequence": 1, "key": 1, "data_type": "number", "attributes": {"prec": 9, "nullable": False}},
    "name": {"sequence": 2, "data_type": "varchar2", "attributes": {"bytelen": 40, "nullable": True}},
    "photo": {"sequence": 3, "data_type": "blob", "attributes": {"nullable": True}},
}


def definition(actions=(), kafka=None, tables=("orders",), group="GENERAL", locations=(), channel="shop"):
    return {
        "changes": [
            {"add_loc": {"loc": "ora", "props": {"Class": "oracle"}}},
            {"add_loc": {"loc": "kaf", "props": KAFKA | (kafka or {})}},
            *({"add_loc": {"loc": name, "props": props}} for name, props in locations),
            {
                "add_channel": {
                    "channel": channel,
                    "loc_groups": {
                        "SOURCE": {"members": ["ora"]},
                        "TARGET": {"members": ["kaf", *(name for name, _ in locations)]},
                    },
                    "tables": {name: {"base_name": name, "table_group": group, "cols": COLUMNS} for name in tables},
                    "actions": [
                        {"loc_scope": "SOURCE", "table_scope": "*", "type": "Capture"},
                        {"loc_scope": "TARGET", "table_scope": "*", "type": "Integrate"},
                        *actions,
                    ],
                }
            },
        ]
    }


@pytest.fixture
def run(tmp_path, capsys):
    """Import a definition; return the channel, what was printed, and the exit code."""

    def called(found, *more):
        (tmp_path / "export").write_text(found if isinstance(found, str) else json.dumps(found))
        code = imports.run(imports.Case(("hvr", str(tmp_path / "export"), *more)), tmp_path / "channel.yaml")
        printed = capsys.readouterr()
        channel = tmp_path / "channel.yaml"
        return (channel.read_text() if channel.exists() else ""), printed.out + printed.err, code

    return called


def action(kind, location="TARGET", table="*", **params):
    return {"type": kind, "loc_scope": location, "table_scope": table, "params": params}


TAKEN = [
    (action("Integrate", Topic="t.{hvr_tbl_name}"), '{action: Integrate, group: TARGET, Topic: "t.{hvr_tbl_name}"}'),
    (action("Integrate", Coalesce=True), "{action: Capture, group: SOURCE, Coalesce: true}"),
    (action("Integrate", "kaf", CycleByteLimit=1000000), "{action: Integrate, group: kaf, CycleByteLimit: 1000000}"),
    (action("Capture", "SOURCE", NoTruncate=True), "{action: Capture, group: SOURCE, NoTruncate: true}"),
    (action("FileFormat", AvroCompression="NONE", Avro=True), "{action: FileFormat, group: TARGET, BlockCompress: NONE, Avro: true}"),
    (action("FileFormat", table="orders", Xml=True), "{action: FileFormat, group: TARGET, Xml: true}"),
    (action("ColumnProperties", "*", Name="photo", Absent=True), "{action: ColumnProperties, Name: photo, Absent: true}"),
    (action("ColumnProperties", "SOURCE", Name="name", CaptureExpression="upper({name})"), 'CaptureExpression: "sql: upper({name})"'),
    (action("ColumnProperties", "SOURCE", Name="name", CaptureExpression="'masked'"), "CaptureExpression: \"'masked'\""),
    (action("ColumnProperties", DatatypeMatch="number[prec>=10]", Datatype="varchar", Length="prec+2"), 'Length: "prec+2"'),
    (action("ColumnProperties", Name="del", Extra=True, SoftDelete=True), "Name: del, Extra: true, SoftDelete: true}"),
    (action("Restrict", "SOURCE", "orders", CaptureCondition="{id} > 7"), 'table: orders, CaptureCondition: "{id} > 7"}'),
    (action("Capture", "SOURCE", IgnoreCondition="{id} < 0"), '{action: Capture, group: SOURCE, IgnoreCondition: "{id} < 0"}'),
    (action("Capture", "SOURCE", "orders", IgnoreUpdateCondition="{id} = 7"), 'table: orders, IgnoreUpdateCondition: "{id} = 7"}'),
    (action("TableProperties", "SOURCE", Schema="SALES"), "{action: TableProperties, group: SOURCE, Schema: SALES}"),
    (action("Scheduling", LatencySLA="90"), "{action: Scheduling, group: TARGET, LatencySLA: 90}"),
    (action("Environment", Name="HVR_KAFKA_RATE_LIMIT", Value="100"), 'Name: HVR_KAFKA_RATE_LIMIT, Value: "100"}'),
    (action("AdaptDDL", "SOURCE"), "  ora: {group: SOURCE, class: files, path: changes, unknown_columns: add}"),
    (action("Integrate", Context="masked"), ""),
]  # fmt: skip


@pytest.mark.parametrize(("one", "wanted"), TAKEN)
def test_what_an_action_becomes(one, wanted, run):
    channel, printed, code = run(definition([one]))
    assert code == 0, printed
    assert wanted in channel


LEFT = [
    (action("Transform", Command="x"), "Transform (TARGET, *) is not followed: rows are sent without it; SQL changes rows"),
    (action("AgentPlugin", Command="x"), "AgentPlugin (TARGET, *): ignored, because it is not supported: a script around integrate --once does what it did"),
    (action("FileFormat", Json=True, IntegrateConverter="x"), "FileFormat (TARGET, *) IntegrateConverter is not followed: messages are sent without it; SQL changes values"),
    (action("Capture", "SOURCE", LogTruncate="DISABLED"), "Capture (SOURCE, *) LogTruncate: ignored, because it is not there: PostgreSQL, MySQL and MariaDB are captured by their logs alone"),
    (action("Integrate", NoUpdate=True), "NoUpdate: ignored, because it is here IgnoreUpdateCondition: 'true' of Capture"),
    (action("NoSuch"), "NoSuch (TARGET, *): ignored, because no counterpart is known"),
    (action("Integrate", "ELSEWHERE"), "Integrate (ELSEWHERE, *): ignored, because the channel does not have this location"),
    (action("Integrate", Burst=True), "Integrate (TARGET, *) Burst: ignored, because it is not for Kafka"),
    (action("Integrate", Invented=1), "Integrate (TARGET, *) Invented: ignored, because no counterpart is known"),
    (action("Integrate", MessageKeySerializer="GZIP"), "Integrate (TARGET, *) MessageKeySerializer=GZIP: ignored, because it is not accepted: Input should be"),
    (action("ColumnProperties", "SOURCE", Name="name", Datatype="char"), "ColumnProperties (SOURCE, *) Datatype: ignored, because it does nothing at SOURCE"),
    (action("Restrict", "TARGET", CaptureCondition="{id} > 1"), "Restrict (TARGET, *) CaptureCondition: ignored, because it does nothing at TARGET"),
    (action("Environment", Name="HVR_KAFKA_BROKER_VERSION", Value="0.9"), "Environment (TARGET, *) HVR_KAFKA_BROKER_VERSION: ignored, because the job has no such variable"),
    (action("Capture", "SOURCE", IgnoreSessionName="x"), "Capture (SOURCE, *) IgnoreSessionName is not followed: records do not name sessions"),
    (action("TableProperties", MissingRepresentationString="?"), "TableProperties (TARGET, *) MissingRepresentationString: values of the other kinds that records leave out stay missing"),
    (action("FileFormat", Csv=True), "Csv: messages have keys here, which hold the order of a row's changes"),
    (action("ColumnProperties", Name="nothing", Absent=True), "ColumnProperties (TARGET, *) of nothing: ignored, because no table of its scope has the column"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "wanted"), LEFT)
def test_what_has_no_counterpart_is_named_with_the_reason(one, wanted, run):
    channel, printed, code = run(definition([one]))
    assert code == 0, printed
    assert wanted in printed


def sequence(length, expression="{hvr_integ_seq}"):
    named = {"Name": "integ_seq", "Extra": True, "TimeKey": True}
    return action("ColumnProperties", **named, Datatype="varchar", Length=length, IntegrateExpression=expression)


WIDENED = [
    # a column of add-ons of HVR's that is shorter than positions are here
    (sequence(36), 45),
    (sequence("36"), 45),
    (sequence(45), None),
    (sequence(60), None),
    (sequence(16, "{hvr_tx_seq}"), 20),
    (sequence(46, "{hvr_tx_seq}-{hvr_integ_seq}"), 66),
]


@pytest.mark.parametrize(("one", "length"), WIDENED)
def test_a_column_that_is_too_short_for_a_position_is_wider(one, length, run):
    channel, printed, code = run(definition([one]))
    assert code == 0, printed
    given = one["params"]["Length"]
    assert f"Length: {length or given}, " in channel
    remark = f"ColumnProperties (TARGET, *) of integ_seq: its values have up to {length} characters here"
    assert (remark in printed) is (length is not None)
    assert "is left out" not in printed


FAIL_SAFE = [
    # a mask that cannot be had: the column is not sent
    (action("ColumnProperties", "SOURCE", "orders", Name="name", CaptureExpression="mask(select 1)"),
     "{action: ColumnProperties, group: TARGET, table: orders, Name: name, Absent: true}", 0),
    (action("ColumnProperties", "TARGET", "orders", Name="name", IntegrateExpression="{hvr_unheard_of}"),
     "{action: ColumnProperties, group: TARGET, table: orders, Name: name, Absent: true}", 0),
    # a condition that cannot be had: the table is not sent
    (action("Restrict", "SOURCE", "orders", CaptureCondition="{id} in (select id from vip)"),
     "{action: TableProperties, group: TARGET, table: orders, Absent: true}", 0),
    # a column of the key must be in the messages, and columns of a datatype are not named: the author must act
    (action("ColumnProperties", "SOURCE", "orders", Name="id", CaptureExpression="(select 1)"), "Name: id, Absent: true", 2),
    (action("ColumnProperties", "SOURCE", "*", DatatypeMatch="varchar", CaptureExpression="(select 1)"), "(select 1)", 2),
]  # fmt: skip


@pytest.mark.parametrize(("one", "wanted", "exit_code"), FAIL_SAFE)
def test_nothing_is_sent_that_hvr_did_not_send(one, wanted, exit_code, run):
    channel, printed, code = run(definition([one], tables=("orders", "others")))
    assert code == exit_code, printed
    assert wanted in channel


PROPERTIES = [
    ({"Kafka_Default_Topic": "x.{hvr_tbl_name}"}, 'Kafka_Default_Topic: "x.{hvr_tbl_name}"'),
    ({"Kafka_Brokers": "b1:9093, b2"}, 'Kafka_Brokers: ["b1:9093", b2]'),
    ({"Kafka_Brokers": [{"host": "b1", "port": 9093}, {"Host": "b2"}, "b3"]}, 'Kafka_Brokers: ["b1:9093", "b2:9092", b3]'),
    ({}, "Kafka_Message_Compress: NONE"),
    ({"Kafka_Message_Bundling": "THRESHOLD", "Kafka_Message_Bundling_Threshold": "1000"}, "Kafka_Message_Bundling_Threshold: 4096"),
    ({"Kafka_Schema_Registry": "http://r:8081", "Kafka_Schema_Registry_Format": "JSON"}, "Kafka_Schema_Registry_Format: JSON"),
    ({"Kafka_Schema_Registry": "http://r:8081", "Kafka_Schema_User": "me"}, 'Kafka_Schema_Registry_Password: "${KAFKA_SCHEMA_REGISTRY_PASSWORD}"'),
    ({"Kafka_Schema_Registry": "http://me:pl4nted@r:8081"}, 'Kafka_Schema_Registry: "http://r:8081"'),
    ({"Kafka_Authentication_Method": "USER_PASS", "Stream_User": "me"}, 'Stream_Password: "${STREAM_PASSWORD}"'),
    ({"Stream_Public_Certificate": "/no/such.pem"}, "Kafka_Tls: true"),
    ({"Stream_Public_Certificate": "/no/such.pem", "Stream_Client_Public_Certificate": "/no/such.pem",
      "Stream_Client_Private_Key": "-----BEGIN PRIVATE KEY-----\npl4nted"}, "Kafka_Tls: true"),
]  # fmt: skip


@pytest.mark.parametrize(("properties", "wanted"), PROPERTIES)
def test_properties_of_the_kafka_location(properties, wanted, run):
    channel, printed, code = run(definition(kafka=properties))
    assert code == 0, printed
    assert wanted in channel
    assert imports.SECRET not in channel + printed


def test_a_secret_in_a_property_of_librdkafka_is_asked_for(run):
    value = "sasl.username=me;sasl.password=pl4nted;linger.ms=5"
    channel, printed, _ = run(definition([action("Environment", Name="HVR_KAFKA_PROPERTY", Value=value)]))
    assert 'Value: "sasl.username=me;sasl.password=${KAFKA_SASL_PASSWORD};linger.ms=5"' in channel
    assert "sasl.password is not written down: give it in the environment as KAFKA_SASL_PASSWORD" in printed
    assert imports.SECRET not in channel + printed


REFUSED = [
    ("{", (), "is no definition of HVR, neither JSON nor XML"),
    ("{}", (), 'it has no list of "changes"'),
    ('{"changes": [{"add_channel": {"channel": "x", "tables": [1]}}]}', (), "a change in it is not of the form"),
    ("<html/>", (), "its root is <html>, not <hvr>"),
    ('<!DOCTYPE hvr [<!ENTITY a "a">]><hvr/>', (), "it defines entities, which HVR's do not"),
    (definition(tables=()), (), "channel shop has no tables: export it with its tables"),
    (definition(), ("--hvr-channel", "other"), "defines no channel 'other'; it defines shop"),
    (definition(locations=[("kaf2", KAFKA)]), (), "a channel has one Kafka location; found kaf, kaf2; name one of them: --target"),
    ({"changes": definition()["changes"] + definition(channel="shop2")["changes"]}, (), "defines shop, shop2 as channels; name one of them: --hvr-channel"),
    ({"changes": definition()["changes"][3:] + definition()["changes"][2:]}, (), "found none: export the channel with its locations"),
]  # fmt: skip


@pytest.mark.parametrize(("found", "more", "wanted"), REFUSED)
def test_what_cannot_be_imported(found, more, wanted, run):
    channel, printed, code = run(found, *more)
    assert (code, channel) == (2, "")
    assert wanted in printed


def test_one_of_several_kafka_locations_is_chosen(run):
    channel, printed, code = run(
        definition(locations=[("kaf2", KAFKA | {"Kafka_Default_Topic": "two"})]), "--target", "kaf2"
    )
    assert code == 0, printed
    assert "  kaf2:\n    class: kafka" in channel
    assert "location kaf (kafka): ignored, because a channel has one source and one Kafka location" in printed


def test_an_action_for_a_column_that_some_tables_have_is_for_these(run):
    found = definition([action("ColumnProperties", Name="photo", Absent=True)], tables=("orders", "bare"))
    tables = found["changes"][2]["add_channel"]["tables"]
    tables["bare"] = tables["bare"] | {"cols": {"id": COLUMNS["id"]}}
    channel, printed, code = run(found)
    assert code == 0, printed
    assert '{action: ColumnProperties, group: TARGET, table: "*", Name: photo, Absent: true}' in channel


def test_so_is_one_for_a_table_group(run):
    found = definition(
        [action("ColumnProperties", table="LOGS", Name="photo", Absent=True)], tables=("orders", "bare"), group="LOGS"
    )
    tables = found["changes"][2]["add_channel"]["tables"]
    tables["bare"] = tables["bare"] | {"cols": {"id": COLUMNS["id"]}}
    channel, printed, code = run(found)
    assert code == 0, printed
    assert "table: LOGS, Name: photo, Absent: true}" in channel


def test_table_groups_and_names(run, tmp_path):
    found = definition([action("TableProperties", table="LOGS", DistributionKeyLimit=0)], group="LOGS")
    found["changes"][2]["add_channel"]["tables"]["orders"]["base_name"] = "ORDERS_V2"
    channel, printed, code = run(found)
    assert code == 0, printed
    assert "names: {ORDERS_V2: orders}" in channel
    assert "table_groups: {LOGS: [orders]}" in channel
    assert "{action: TableProperties, group: TARGET, table: LOGS, DistributionKeyLimit: 0}" in channel


TYPES = [
    ("number", {}, {"datatype": "numeric"}),
    ("number", {"prec": 9}, {"datatype": "integer"}),
    ("number", {"prec": 10, "scale": 0}, {"datatype": "bigint"}),
    ("number", {"prec": 26}, {"datatype": "decimal", "precision": 26, "scale": 0}),
    ("number", {"prec": 10, "scale": 2}, {"datatype": "decimal", "precision": 10, "scale": 2}),
    ("number", {"prec": 5, "scale": -2}, {"datatype": "decimal", "precision": 7, "scale": 0}),
    ("decimal", {"prec": 9}, {"datatype": "decimal", "precision": 9, "scale": 0}),
    ("int identity", {}, {"datatype": "integer"}),
    ("tinyint unsigned", {}, {"datatype": "smallint"}),
    ("smallint unsigned", {}, {"datatype": "integer"}),
    ("mediumint unsigned", {}, {"datatype": "integer"}),
    ("unsigned int", {}, {"datatype": "bigint"}),
    ("bigint unsigned", {}, {"datatype": "decimal", "precision": 20, "scale": 0}),
    ("bit (mysql)", {}, {"datatype": "boolean"}),
    ("varchar2", {"bytelen": 80, "charlen": 20}, {"datatype": "varchar", "length": 20}),
    ("nvarchar", {}, {"datatype": "text"}),
    ("nvarchar(max)", {}, {"datatype": "text"}),
    ("text (sqlserver)", {}, {"datatype": "text"}),
    ("image (sybase)", {}, {"datatype": "blob"}),
    ("long varbinary", {}, {"datatype": "blob"}),
    ("date", {}, {"datatype": "timestamp", "precision": 0}),
    ("date (mysql)", {}, {"datatype": "date"}),
    ("ansidate", {}, {"datatype": "date"}),
    ("datetime", {}, {"datatype": "timestamp", "precision": 3}),
    ("datetime2", {"prec": 7}, {"datatype": "timestamp", "precision": 7}),
    ("timestamp (oracle)", {"prec": 6}, {"datatype": "timestamp", "precision": 6}),
    ("timestamp with tz (oracle)", {"prec": 6}, {"datatype": "timestamptz", "precision": 6}),
    ("timestamp with local time zone", {}, {"datatype": "timestamptz"}),
    ("postgres timestamp with time zone", {"prec": 3}, {"datatype": "timestamptz", "precision": 3}),
    ("datetimeoffset", {}, {"datatype": "timestamptz"}),
    ("time with time zone", {"prec": 3}, {"datatype": "time", "precision": 3}),
    ("interval day to second", {}, {"datatype": "interval"}),
    ("uniqueidentifier", {}, {"datatype": "char", "length": 36}),
    ("money (ingres)", {}, {"datatype": "decimal", "precision": 19, "scale": 4}),
    ("<<sdo_geometry>>", {}, {"datatype": "text"}),
]  # fmt: skip


@pytest.mark.parametrize(("datatype", "sizes", "wanted"), TYPES)
def test_datatypes(datatype, sizes, wanted):
    made, note = hvr_types.definition(HvrColumn("c", datatype, sizes=sizes))
    assert made == {"name": "c", **wanted}
    assert bool(note) == datatype.startswith("<<")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", {}),
        ("/Extra", {"Extra": True}),
        ("/Name=op_val /Extra /IntegrateExpression={hvr_op}", {"Name": "op_val", "Extra": True, "IntegrateExpression": "{hvr_op}"}),
        ('/CaptureExpression="case when {a} = \'x\' then 1 end" /Key', {"CaptureExpression": "case when {a} = 'x' then 1 end", "Key": True}),
        ("/FieldSeparator=\\t /Value=a=b#c", {"FieldSeparator": "\\t", "Value": "a=b#c"}),
    ],
)  # fmt: skip
def test_parameters_of_hvr_5(text, wanted):
    assert hvr_xml.parameters(text) == wanted
