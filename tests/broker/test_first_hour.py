"""From the command `run` to a channel's file: keys, tombstones, other options, and the place that is kept."""

# ruff: noqa: F811 - fixtures of another file

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from integrator.sources.postgres import slot
from integrator.sources.postgres.server import Server
from tests.broker.test_postgres_capture import database  # noqa: F401 - a fixture
from tests.broker.test_schema_history import server  # noqa: F401 - a fixture
from tests.parts import kafka_io, postgres

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False)),
]


@pytest.fixture
def run(command, spark, monkeypatch, tmp_path):
    """Run a command in a directory of its own."""
    monkeypatch.chdir(tmp_path)

    def ran(*words, code=0):
        ended = command(*words, spark=spark)
        assert ended.code == code, ended.out[-2000:] + ended.err[-2000:]
        return ended.out + ended.err

    return ran


def test_keys_are_whole_and_a_tombstone_follows_a_delete(database, broker, run, name):
    database.run("create table lines(a int, b text, v text, primary key (a, b)); create table bare(v text)")
    database.run("alter table bare replica identity full")
    database.run(
        "insert into lines select 1, g::text, 'x' from generate_series(1, 20) g; insert into bare values ('y')"
    )
    words = ["run", "--from", database.address, "--to", broker.servers, "--format", "json", "--deletes", "tombstone"]
    said = " ".join(run(*words, "--once").split())
    assert "table bare has no key: no tombstones follow its deletes" in said
    database.run("delete from lines where b = '7'; delete from bare")
    run(*words, "--once")
    sent = kafka_io.read_all(broker.servers, [f"{name}.public.lines"])
    assert {one.key for one in sent} == {
        json.dumps({"a": 1, "b": str(k)}, separators=(",", ":")).encode() for k in range(1, 21)
    }
    assert len({one.partition for one in sent}) > 1
    of_one = [one.value and json.loads(one.value)["op_val"] for one in sent if one.key == b'{"a":1,"b":"7"}']
    assert of_one == [1, 0, None]
    assert [json.loads(one.value)["op_val"] for one in kafka_io.read_all(broker.servers, [f"{name}.public.bare"])] == [
        1,
        0,
    ]


def test_the_file_of_a_command_continues_at_its_place(database, broker, run, tmp_path, name):
    database.run("create table t(k int primary key); insert into t values (1)")
    words = ["run", "--from", database.address, "--to", broker.servers, "--format", "json"]
    run(*words, "--once")
    assert f"{tmp_path}" not in run(*words, "--write-channel", "shop.yaml")
    database.run("insert into t values (2)")
    run("--channel", "shop.yaml", "--once")
    run("check", "--channel", "shop.yaml", "--connect")
    sent = kafka_io.read_all(broker.servers, [f"{name}.public.t"])
    assert sorted(json.loads(one.value)["k"] for one in sent) == [1, 2]


def test_a_command_with_other_options_says_what_it_would_change(database, broker, run, name):
    database.run("create table t(k int primary key); insert into t values (1)")
    words = ["run", "--from", database.address, "--to"]
    run(*words, "127.0.0.1:9", "--format", "avro", "--registry", "http://127.0.0.1:9", "--once", code=5)
    assert "the channel differs from before" in run(*words, broker.servers, "--format", "json", "--once")
    said = run(*words, broker.servers, "--once", code=2)
    assert "- - {action: FileFormat" in said
    assert "in another format in the same topics" in said
    assert "messages have other keys" in said
    assert "add --change" in said
    database.run("insert into t values (2)")
    run(*words, broker.servers, "--once", "--change")
    sent = kafka_io.read_all(broker.servers, [f"{name}.public.t"])
    assert sorted(json.loads(one.value).get("payload", json.loads(one.value))["k"] for one in sent) == [1, 2]


def test_compaction_of_topics_whose_keys_are_less_is_refused(database, broker, run, tmp_path, name):
    database.run("create table t(a int, b int, primary key (a, b))")
    topic = f"{name}.public.t"
    admin = AdminClient({"bootstrap.servers": broker.servers})
    for one in admin.create_topics([NewTopic(topic, 1, 1, config={"cleanup.policy": "compact"})]).values():
        one.result()
    run("run", "--from", database.address, "--to", broker.servers, "--write-channel", "shop.yaml")
    run("check", "--channel", "shop.yaml", "--connect")
    path = tmp_path / "shop.yaml"
    path.write_text(path.read_text().replace("  - {action: Integrate, MessageKeySerializer: CONNECT_SCHEMA}\n", ""))
    said = run("check", "--channel", "shop.yaml", "--connect", code=2)
    assert f"{topic}: is compacted" in said
    assert "the message key lacks b of table t" in said
    path.write_text(
        path.read_text().replace(
            "Replication_Factor: 1}", "Replication_Factor: 1, Topic_Config: {cleanup.policy: compact}}"
        )
    )
    assert "Create_Topics" in run("check", "--channel", "shop.yaml", code=2)


MISTAKES = {
    # what is given instead of a right word; the exit code, and what is said
    "a misspelt table": (["--tables", "orderz"], 2, ["'orderz' matches no table; do you mean orders?", "$.locations.src.tables"]),
    "no such schema": (["--tables", "sales.*"], 2, ["'sales.*' matches no table", "there are public.orders"]),
    "a wrong password": (["--from", "postgresql://cdc:wrong@{place}"], 5, ["authentication failed", "PGPASSWORD"]),
    "no password": (["--from", "postgresql://cdc@{place}"], 5, ["no password supplied", "the operator must act"]),
    "no such database": (["--from", "postgresql://{user}@{server}/nothing"], 5, ["does not exist", "mend the user, the database"]),
    "no such format": (["--format", "xml"], 2, ["--format 'xml' is none of connect-json, json, avro"]),
    "a registry for JSON": (["--format", "json", "--registry", "http://r"], 2, ["--registry is for avro, protobuf, json-schema"]),
    "no registry for Avro": (["--format", "avro"], 2, ["--format avro needs a schema registry"]),
    "another word for deletes": (["--deletes", "null"], 2, ["--deletes 'null' is none of row, tombstone"]),
    "no database": (["--from", "postgresql://{user}@{server}"], 2, ["names no database"]),
    "another scheme": (["--from", "oracle://x/y"], 2, ["no address that changes are captured from: oracle"]),
    "a word for values": (["--values-without-form", "nope"], 2, ["--values-without-form 'nope' is none of null, text, stop"]),
    "a word for rewrites": (["--on-rewrite", "nope"], 2, ["--on-rewrite 'nope' is none of read_again, warn, stop"]),
    "no such directory": (["--from", "/nowhere"], 2, ["--from is no directory, and no address"]),
    "no directory for a file": (["--write-channel", "/nowhere/x.yaml"], 2, ["there is no directory /nowhere"]),
    "an exclusion of nothing, and one of two tables misspelt": (
        ["--exclude", "sales.*", "--tables", "orders,ordrs"],
        0,
        ["exclude: 'sales.*' matches no table, and leaves none out", "tables: 'ordrs' matches no table; do you mean orders?"],
    ),
    "a column that no table has": (["--text-columns", "orders.nope"], 2, ["orders.nope"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def closed():
    """A server that asks for passwords, with a table."""
    with postgres.from_pypi() as found, postgres.cluster(found=found) as started:
        started.psql("create user cdc password 'right' superuser; create table orders(k int primary key)")
        own = Path(started.psql("show hba_file").strip())
        own.write_text("host all cdc all scram-sha-256\n" + own.read_text())
        started.psql("select pg_reload_conf()")
        yield started


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_answered_with_what_helps(case, closed, broker, command, spark, tmp_path, monkeypatch):
    words, code, said = MISTAKES[case]
    server = f"{closed.host}:{closed.port}"
    given = {"server": server, "place": f"{server}/postgres", "user": closed.user}
    words = [one.format(**given) for one in words]
    if "--from" not in words:
        words += ["--from", f"postgresql://{closed.user}@{server}/postgres"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    ended = command("run", "--to", broker.servers, "--once", *words, spark=spark)
    printed = ended.out + ended.err
    assert ended.code == code, printed
    assert all(one in printed for one in said), printed
    assert "wrong" not in printed.replace("wrong version", "")


def test_a_publication_of_others_is_left(closed):
    closed.psql("create user reader replication; create publication theirs")
    with Server(f"postgresql://reader@{closed.host}:{closed.port}/postgres", "test").session() as session:
        left = slot.forget(session, slot.Names(slot="none", publication="theirs"))
    assert left == [f"left: publication theirs, which is one of {closed.user}"]


def test_check_finds_tables_and_slots_that_a_start_would_stop_at(database, server, broker, tmp_path, name, run):
    database.run(
        "create table t(k int primary key); create table u(k int primary key); create role cdc login replication"
    )
    database.run("grant select on t, u to cdc; create publication theirs for table t")
    place = database.address.rpartition("@")[2]
    words = ["--from", f"postgresql://cdc@{place}", "--to", broker.servers, "--write-channel", "shop.yaml"]
    run("run", *words)
    path = tmp_path / "shop.yaml"
    path.write_text(path.read_text().replace("    class: postgres\n", "    class: postgres\n    publication: theirs\n"))
    check = ("check", "--channel", "shop.yaml", "--connect")
    said = run(*check, code=5)
    assert "it may not publish public.u, of which nothing is sent" in said
    assert '  alter publication "theirs" add table "public"."u";\n' in said
    run("--channel", "shop.yaml", "--once")
    standing = run("state", "--channel", "shop.yaml", "--connect")
    assert "table public.u is not sent" in standing
    assert "alter publication" in standing
    database.run("alter publication theirs add table u")
    run("--channel", "shop.yaml", "--once")
    assert "is not sent" not in run("state", "--channel", "shop.yaml", "--connect")
    run(*check)
    state = next((tmp_path / "integrator-state" / "state").iterdir())
    moved = state.rename(tmp_path / "elsewhere")
    assert "the channel's state knows nothing of it" in run(*check, code=5)
    moved.rename(state)
    database.run("select pg_drop_replication_slot(slot_name) from pg_replication_slots")
    assert "is not there any more" in run(*check, code=5)
