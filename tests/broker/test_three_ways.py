"""A row has the same values wherever it is read: in the first reading, in the log, and in a refresh."""

import json
from collections import defaultdict
from decimal import Decimal

import pytest

from tests.parts import jdbc, kafka_io, mariadb, mysql, postgres

pytestmark = [pytest.mark.broker, pytest.mark.spark]
POSTGRES = {
    "bool": ["true", "false"],
    "int2": ["-32768"],
    "int4": ["-2147483648"],
    "int8": ["-9223372036854775808", "9223372036854775807"],
    "numeric": ["12345678901234567890.123456789", "0.0000000001", "-5"],
    "numeric(30,10)": ["-1.5", "99999999999999999999.9999999999"],
    "float4": ["1.1", "3.4e38", "1e-37"],
    "float8": ["0.1", "1.7976931348623157e308", "5e-324"],
    "money": ["'-$1,234.50'"],
    "text": ["''", "' a '", "'ü \U0001f600 \"x\"'", r"E'a\\b\nc\td'"],
    "varchar(5)": ["'abc  '"],
    "char(5)": ["'abc'"],
    '"char"': ["'x'"],
    "name": ["'n'"],
    "bytea": [r"'\x00ff10'", "''"],
    "date": ["'0001-01-01'", "'9999-12-31'", "'2024-02-29'"],
    "time": ["'23:59:59.999999'", "'00:00'"],
    "time(0)": ["'23:59:59'"],
    "timetz": ["'12:00:00.5+02'"],
    "timestamp": ["'2024-02-29 12:34:56.789012'", "'0001-01-01'"],
    "timestamp(3)": ["'2024-02-29 12:34:56.789'"],
    "timestamptz": ["'2024-02-29 12:34:56.789012+05:30'"],
    "interval": ["'1 year 2 months -3 days 04:05:06.789'", "'-1 second'", "'0'"],
    "uuid": ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"],
    "json": ["""'{"a":  1, "b": [1.50, null]}'"""],
    "jsonb": ["""'{"b":  1.50, "a": "ü"}'"""],
    "xml": ["'<a>x</a>'"],
    "inet": ["'10.0.0.1/8'"],
    "cidr": ["'10.0.0.0/8'"],
    "macaddr": ["'08:00:2b:01:02:03'"],
    "bit(3)": ["B'101'"],
    "bit(1)": ["B'1'"],
    "varbit": ["B'10101'", "B''"],
    "point": ["'(1.5,2)'"],
    "box": ["'(1,2),(3,4)'"],
    "int4range": ["'[1,5)'", "'empty'"],
    "tstzrange": ["'[2024-01-01 00:00+00,)'"],
    "int4multirange": ["'{[1,2),[4,6)}'"],
    "tsvector": ["'a:1 b:2'"],
    "oid": ["4294967295"],
    "int4[]": ["'{1,null,3}'", "'{}'"],
    "text[]": ["""'{"a b",null,"c\\"d",""}'"""],
    "numeric(9,2)[]": ["'{1.50,2}'"],
    "bytea[]": [r"""E'{"\\\\x00ff"}'"""],
    "date[]": ["'{2024-01-01}'"],
    "money[]": ["""'{"$1,234.50",-$2.00,null}'"""],
    "bool[]": ["'{t,f}'"],
    "timestamptz[]": ["'{2024-01-01 00:00:00+00}'"],
    "mood": ["'sad'"],
    "mood[]": ["'{sad,glad}'"],
    "small": ["3"],
    "pair": ["row(1, null)", "row(null, null)", "row(2, 'x y')"],
    "pair[]": ["array[row(1, 'a')::pair]"],
}  # fmt: skip
BINLOG = {
    "tinyint": ["-128"],
    "tinyint(1)": ["1", "0"],
    "tinyint unsigned": ["255"],
    "smallint": ["-32768"],
    "mediumint": ["-8388608"],
    "mediumint unsigned": ["16777215"],
    "int": ["-2147483648"],
    "int unsigned": ["4294967295"],
    "int(6) unsigned zerofill": ["42"],
    "bigint": ["-9223372036854775808"],
    "bigint unsigned": ["18446744073709551615"],
    "decimal(30,10)": ["-1.5", "99999999999999999999.9999999999"],
    "decimal(9,2) unsigned": ["0.05"],
    "float": ["1.1", "3.4e38", "1e-37"],
    "double": ["0.1", "1.7976931348623157e308"],
    "bit(1)": ["b'1'"],
    "bit(11)": ["b'10000000001'"],
    "char(5)": ["'abc'"],
    "varchar(20)": ["''", "' a '", "'ü \U0001f600'"],
    "varchar(20) character set latin1": ["'ü'"],
    "longtext": ["'a\\\\b\\nc'"],
    "binary(4)": ["x'00ff'"],
    "varbinary(9)": ["x'00ff10'", "''"],
    "blob": ["x'00ff10'"],
    "date": ["'1000-01-01'", "'9999-12-31'", "'2024-02-29'"],
    "time": ["'23:59:59'", "'00:00:00'"],
    "time(6)": ["'12:34:56.789012'"],
    "datetime": ["'2024-02-29 12:34:56'"],
    "datetime(6)": ["'2024-02-29 12:34:56.789012'"],
    "timestamp null": ["'2024-02-29 12:34:56'"],
    "timestamp(3) null": ["'2024-02-29 12:34:56.789'"],
    "year": ["2024", "0"],
    "enum('a','b,c')": ["'b,c'"],
    "set('a','b','c')": ["'a,c'", "''"],
    "json": ["""'{"a": 1, "b": [1.5, null, "ü"]}'"""],
    "point": ["st_geomfromtext('POINT(1.5 2)')"],
    "geometry": ["st_geomfromtext('LINESTRING(0 0, 1 1)')"],
}  # fmt: skip
MARIADB = {"uuid": ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"], "inet6": ["'::1'"]}
BEFORE = (
    "create type mood as enum ('sad', 'glad'); create domain small as int check (value < 9); "
    "create type pair as (a int, b text);"
)
ROWS = """
  - {action: FileFormat, group: "*", Json: true, JsonMode: ROW_FRAGMENTS}
  - {action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_op}"}
  - {action: ColumnProperties, Name: seq, Extra: true, TimeKey: true, Datatype: varchar, Length: 45, IntegrateExpression: "{hvr_integ_seq}"}
"""


@pytest.fixture(scope="module", params=["postgres", "mysql", "mariadb"])
def server(request):
    """A server, what its tables have, its address, a JDBC location, and how SQL is run."""
    name = request.param
    parts = {"postgres": postgres, "mysql": mysql, "mariadb": mariadb}[name]
    lacks = parts.missing() if name != "postgres" else postgres.missing(wal2json=False)
    lacks = lacks or ("" if jdbc.driver() else "JDBC drivers from Maven Central")
    if lacks:
        pytest.skip(lacks)
    if name == "postgres":
        with postgres.cluster() as one:
            one.psql(BEFORE)
            url = f"jdbc:postgresql://{one.host}:{one.port}/postgres"
            yield (
                POSTGRES,
                "postgres",
                f"postgresql://{one.user}@{one.host}:{one.port}/postgres",
                f"url: '{url}', user: {one.user}, jars: ['{jdbc.driver()}']",
                one.psql,
            )
        return
    with parts.cluster() as one:
        one.sql("create database shop")
        who = f"user: {one.user}, password: {one.password}, jars: ['{jdbc.mariadb_driver()}'], driver: org.mariadb.jdbc.Driver"
        place = f"{one.host}:{one.port}/shop"
        url = (
            f"jdbc:mariadb://{place}"
            if name == "mariadb"
            else f"jdbc:mysql://{place}?permitMysqlScheme&allowPublicKeyRetrieval=true"
        )
        types = BINLOG | (MARIADB if name == "mariadb" else {})
        yield types, name, one.address("shop"), f"url: '{url}', {who}", lambda sql: one.sql(sql, "shop")


def test_every_type_by_snapshot_log_and_refresh(server, broker, integrate_once, refresh, tmp_path, name):
    types, product, address, database, sql = server
    numbered = list(enumerate(types.items()))
    for number, (kind, values) in numbered:
        rows = ", ".join(f"({k}, {value})" for k, value in enumerate([*values, "null"]))
        sql(f"create table t{number} (k int primary key, v {kind}); insert into t{number} values {rows}")
    path = tmp_path / "channel.yaml"
    path.write_text(
        f"""
channel: {name}
state: {tmp_path}/state
locations:
  src: {{class: {product}, address: "{address}"}}
  tab: {{class: jdbc, {database}}}
  kaf: {{class: kafka, Kafka_Brokers: ["{broker.servers}"], Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}", Create_Topics: {{Partitions: 1, Replication_Factor: 1}}}}
actions:{ROWS}"""
    )
    integrate_once(path)
    for number, _ in numbered:
        sql(f"insert into t{number} select k + 100, v from t{number}")
    integrate_once(path)
    refresh(path)
    found = defaultdict(list)
    for one in kafka_io.read_all(broker.servers, [f"{name}.t{number}" for number, _ in numbered]):
        row = json.loads(one.value, parse_float=Decimal)
        found[one.topic].append((row["k"], json.dumps(row["v"], default=str)))
    differing = []
    for number, (kind, values) in numbered:
        many = len(values) + 1
        messages = found[f"{name}.t{number}"]
        first, logged, read = messages[:many], messages[many : 2 * many], messages[2 * many :]
        wanted = dict(first)
        assert sorted(wanted) == list(range(many)), kind
        differing += [(kind, "log", k - 100, value, wanted[k - 100]) for k, value in logged if value != wanted[k - 100]]
        differing += [(kind, "refresh", k, value, wanted[k % 100]) for k, value in read if value != wanted[k % 100]]
        assert len(logged) == many, kind
        assert len(read) == 2 * many, kind
    assert not differing
