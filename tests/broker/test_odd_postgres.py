"""A live PostgreSQL with what is odd in it: `init` from its catalogue, a refresh, changes; topics are its tables.

Partitions, one made after the definitions were written; a table without a key; names in mixed case; one name in two
schemas. The consumer keeps the last message of each key, as a compacted topic does.
"""

import json
from collections import Counter

import pytest
import yaml

from integrator.errors import EnvironmentFault
from tests.parts import jdbc, kafka_io, postgres

pytestmark = [pytest.mark.broker, pytest.mark.spark]

TABLES = """
create schema ops;
create table public.orders (id int primary key, note text);
create table ops.orders (id int primary key, note text);
create table public."Order Lines" ("Line No" int primary key, "Text" text);
create table public.log (what text, times int);
alter table public.log replica identity full;
create table public.measures (id int, made date, value numeric(9,2), primary key (id, made)) partition by range (made);
create table public.measures_2024 partition of public.measures for values from ('2024-01-01') to ('2025-01-01');
create table public.measures_2025 partition of public.measures for values from ('2025-01-01') to ('2026-01-01')
  partition by list (id);
create table public.measures_2025_a partition of public.measures_2025 default;
insert into public.orders values (1, 'a'), (2, 'b');
insert into ops.orders values (1, 'other'), (3, 'c');
insert into public."Order Lines" values (1, 'x'), (2, 'y');
insert into public.log values ('start', 1), ('start', 1), ('stop', null);
insert into public.measures values (1, '2024-02-29', 1.50), (1, '2025-03-01', 2), (2, '2025-03-01', null);
"""
CHANGES = """
set synchronous_commit = on;
update public.orders set note = 'new' where id = 1; delete from public.orders where id = 2;
insert into ops.orders values (4, 'd'); update ops.orders set id = 30 where id = 3;
update public."Order Lines" set "Text" = 'z' where "Line No" = 2; delete from public."Order Lines" where "Line No" = 1;
delete from public.log where ctid = (select min(ctid) from public.log); update public.log set times = 2 where what = 'stop';
insert into public.log values ('end', 1), ('end', 1);
update public.measures set made = '2024-03-01' where id = 2; delete from public.measures where made = '2024-02-29';
create table public.measures_2026 partition of public.measures for values from ('2026-01-01') to ('2027-01-01');
insert into public.measures values (9, '2026-07-01', 9.99);
insert into public.measures values (5, '2024-05-05', 5);
"""
KEYS = {"orders": ["id"], "ops_orders": ["id"], "order_lines": ["Line No"], "measures": ["id", "made"]}
IN_DATABASE = {"orders": "public.orders", "ops_orders": "ops.orders", "order_lines": 'public."Order Lines"',
               "log": "public.log", "measures": "public.measures"}  # fmt: skip
OPTIONS = "'format-version', '2', 'include-lsn', '1', 'include-xids', '1', 'include-timestamp', '1'"


def captured(server, directory, number):
    text = server.psql(f"select data from pg_logical_slot_get_changes('odd', null, null, {OPTIONS})")
    (directory / "changes" / f"{number}.jsonl").write_text(text)


def arrived(servers, topic, key):
    """What a consumer has of a topic: of a table with a key the last message of each; else each row, as often as it is there."""
    rows = [json.loads(message.value) for message in kafka_io.read_all(servers, [topic])]
    kept = {}
    several = Counter()
    for row in sorted(rows, key=lambda one: one["integ_seq"]):
        op = row.pop("op_val")
        del row["integ_seq"]
        several[json.dumps(row, sort_keys=True)] += {0: -1, 1: 1, 2: 1, 3: -1, 4: -1}[op]
        if key:
            kept[tuple(row[name] for name in key)] = None if op in {0, 3} else row
    return (
        sorted(json.dumps(row, sort_keys=True) for row in kept.values() if row) if key else sorted(several.elements())
    )


def there(server, table):
    lines = server.psql(f"select row_to_json(t) from {table} t").splitlines()
    return sorted(json.dumps(json.loads(line), sort_keys=True) for line in lines)


def test_topics_are_the_tables(command, refresh, integrate_once, broker, tmp_path, name):
    lacks = postgres.missing() or ("" if jdbc.driver() else "PostgreSQL's JDBC driver from Maven Central")
    if lacks:
        pytest.skip(f"a live PostgreSQL needs {lacks}")
    with postgres.cluster() as server:
        server.psql(TABLES)
        server.psql("select pg_create_logical_replication_slot('odd', 'wal2json')")
        url = f"jdbc:postgresql://{server.host}:{server.port}/postgres"
        path = tmp_path / "odd.yaml"
        of_server = ("--user", server.user, "--jar", jdbc.driver())
        made = command(
            "init",
            "--tables",
            url,
            *of_server,
            "--channel",
            path,
            "--brokers",
            broker.servers,
            "--changes",
            tmp_path / "changes",
        )
        assert made.code == 0, made.out + made.err
        (tmp_path / "changes").mkdir()
        channel = yaml.safe_load(path.read_text())
        channel["locations"]["tab"] = {"class": "jdbc", "url": url, "user": server.user, "jars": [str(jdbc.driver())]}
        channel["locations"]["kaf"]["Kafka_Default_Topic"] = f"{name}.{{hvr_tbl_name}}"
        later = {"action": "TableProperties", "group": "SOURCE", "table": "measures", "Partitions": "public.measures_*"}
        channel["actions"] += [later, {"action": "FileFormat", "Json": True, "JsonMode": "ROW_FRAGMENTS"}]
        path.write_text(yaml.safe_dump(channel, sort_keys=False, allow_unicode=True))
        refresh(path)
        for table, key in {**KEYS, "log": []}.items():
            assert arrived(broker.servers, f"{name}.{table}", key) == there(server, IN_DATABASE[table]), table
        server.psql(CHANGES)
        captured(server, tmp_path, 1)
        integrate_once(path)
        for table, key in {**KEYS, "log": []}.items():
            assert arrived(broker.servers, f"{name}.{table}", key) == there(server, IN_DATABASE[table]), table
        server.psql(
            "create role reader login; grant usage on schema ops to reader; "
            "grant select on all tables in schema public, ops to reader; "
            "alter table public.orders enable row level security; create policy own on public.orders using (id = 1)"
        )
        channel["locations"]["tab"]["user"] = "reader"
        path.write_text(yaml.safe_dump(channel, sort_keys=False, allow_unicode=True))
        with pytest.raises(
            EnvironmentFault,
            match="table orders: the query failed at the database: ERROR: query would be affected by row-level",
        ):
            refresh(path)
