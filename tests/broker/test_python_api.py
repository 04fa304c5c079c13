"""The Python interface with a real Kafka: its page word for word, and a sink whose process is killed."""

# ruff: noqa: F811 - fixtures of another file

import json
import os
import subprocess
import sys
import time
from collections import defaultdict

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import Row

import integrator
from integrator.errors import EnvironmentFault
from tests.broker.test_postgres_capture import database  # noqa: F401 - a fixture
from tests.broker.test_schema_history import server  # noqa: F401 - a fixture
from tests.parts import kafka_io, pages, postgres
from tests.parts.daemon import ROOT, Daemon

pytestmark = [pytest.mark.broker, pytest.mark.spark]

CHANNEL = """
channel: sink
locations:
  src: {{class: files, path: batches, dialect: {dialect}, poll_seconds: 0.1}}
  kaf:
    class: kafka
    Kafka_Brokers: ["{servers}"]
    Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}"{kafka}
delivery: {delivery}
tables: [t.sql]
actions:
  - {{action: FileFormat, group: "*", Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: seq, Extra: true, TimeKey: true, Datatype: varchar, Length: 45,
     IntegrateExpression: "{{hvr_integ_seq}}"}}
"""
TABLES = "create table a(id int primary key, n bigint); create table b(id int primary key, n bigint);"
_BATCHES = 10
SCHEMA = "hvr_tbl_name string, hvr_op int, id int, n bigint"


@pytest.fixture
def channel(broker, tmp_path, name):
    """Write a channel over the tables a and b; return its file."""

    def written(dialect="hvr", tables=TABLES, kafka="", delivery="exactly_once"):
        broker.create([f"{name}.a", f"{name}.b"], 2)
        (tmp_path / "t.sql").write_text(tables)
        path = tmp_path / "x.yaml"
        path.write_text(
            CHANNEL.format(dialect=dialect, servers=broker.servers, name=name, kafka=kafka, delivery=delivery)
        )
        return path

    return written


@pytest.fixture
def sent(broker, name):
    """Read a table's messages, in the order of each partition."""
    return lambda table: [json.loads(one.value) for one in kafka_io.read_all(broker.servers, [f"{name}.{table}"])]


@pytest.fixture
def stream(spark, tmp_path):
    """Send what is in `incoming`, a file a batch, in the order of their times, through a sink."""

    def run(sink, schema=SCHEMA, checkpoint="checkpoint", format_="json"):
        changes = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        query = (
            changes.format(format_)
            .load(str(tmp_path / "incoming"))
            .writeStream.foreachBatch(sink)
            .option("checkpointLocation", str(tmp_path / checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    return run


def write(directory, number, rows):
    """Write a file of changes, of lines with the columns of SCHEMA, that is older than those with a higher number."""
    path = directory / "incoming" / f"{number:04d}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        "".join(json.dumps(dict(zip(SCHEMA.replace(",", "").split()[::2], row, strict=True))) + "\n" for row in rows)
    )
    os.utime(path, (1_000_000_000 + number,) * 2)
    return path


def test_changes_of_several_tables_are_sent_in_order(channel, stream, sent, tmp_path):
    write(tmp_path, 0, [("a", 1, 1, 10), ("b", 1, 1, 20), ("a", 4, 1, 10), ("a", 2, 1, 11)])
    write(tmp_path, 1, [("a", 0, 1, 11)])
    with integrator.sink(channel()) as sink:
        stream(sink)
    zeros = "|0000000000000000|"
    assert [(one["op"], one["n"], one["seq"]) for one in sent("a")] == [
        (1, 10, f"{0:020X}{zeros}{0:07X}"),
        (4, 10, f"{0:020X}{zeros}{2:07X}"),
        (2, 11, f"{0:020X}{zeros}{3:07X}"),
        (0, 11, f"{1:020X}{zeros}{0:07X}"),
    ]
    assert [(one["op"], one["n"]) for one in sent("b")] == [(1, 20)]


def test_a_batch_is_a_whole_transaction(channel, stream, broker, name, tmp_path):
    write(tmp_path, 0, [("a", 1, k, k) for k in range(3)])
    path = channel(kafka="\n    Kafka_Message_Bundling: TRANSACTION", delivery="at_least_once")
    with integrator.sink(path) as sink:
        stream(sink)
        [message] = kafka_io.read_all(broker.servers, [f"{name}.a"])
    assert [json.loads(line)["id"] for line in message.value.splitlines()] == [0, 1, 2]


def test_rows_of_a_batch_are_in_the_order_of_its_partitions(channel, spark, sent, tmp_path):
    rows = spark.range(5000, numPartitions=7).selectExpr("'a' hvr_tbl_name", "2 hvr_op", "int(id % 3) id", "id n")
    write(tmp_path, 0, [("a", 1, 1, 1)])
    with integrator.sink(channel()) as sink:
        query = (
            spark.readStream.schema(SCHEMA)
            .json(str(tmp_path / "incoming"))
            .writeStream.foreachBatch(lambda _, number: sink(rows, number))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    by_key = defaultdict(list)
    for one in sent("a"):
        by_key[one["id"]].append(one["n"])
    assert by_key == {k: list(range(k, 5000, 3)) for k in range(3)}


def test_deltas_change_data_feed_is_sent(channel, spark, stream, sent, tmp_path):
    feed = [("insert", 1, 1, 10), ("update_postimage", 2, 1, 11), ("update_preimage", 2, 1, 10), ("delete", 3, 1, 11)]
    names = "_change_type", "_commit_version", "id", "n"
    rows = spark.createDataFrame([Row(**dict(zip(names, row, strict=True))) for row in feed])
    rows.coalesce(1).write.parquet(str(tmp_path / "incoming"))
    with integrator.sink(channel("delta-cdf", TABLES.split(";", maxsplit=1)[0] + ";")) as sink:
        stream(sink, "_change_type string, _commit_version bigint, id bigint, n bigint", format_="parquet")
    assert [(one["op"], one["n"]) for one in sent("a")] == [(1, 10), (4, 10), (2, 11), (0, 11)]


def test_a_wrong_batch_fails_the_query_and_is_made_again_without_its_file(channel, stream, sent, tmp_path):
    path = write(tmp_path, 0, [("a", 7, 1, 1)])
    with integrator.sink(channel(delivery="at_least_once")) as sink:
        for _ in range(2):
            with pytest.raises(StreamingQueryException, match="hvr_op is 7; expected 0 delete"):
                stream(sink)
        [file] = (tmp_path / "batches").glob("*.parquet")
        file.unlink()
        path.write_text(path.read_text().replace("7", "1"))
        stream(sink)
    assert [one["op"] for one in sent("a")] == [1]


def test_columns_that_are_no_changes_are_refused_with_what_is_accepted(channel, stream, tmp_path):
    write(tmp_path, 0, [("a", 1, 1, 1)])
    with (
        integrator.sink(channel()) as sink,
        pytest.raises(StreamingQueryException, match=r"columns of a batch are id, n: it is to have hvr_op \(0 delete"),
    ):
        stream(sink, "id int, n bigint")


def forget(directory, *names):
    """What a checkpoint lacks that is of an earlier time."""
    for name in names:
        path = directory / "checkpoint" / name
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink()


def test_batches_of_another_checkpoint_are_refused(channel, stream, sent, tmp_path):
    write(tmp_path, 0, [("a", 1, 1, 1)])
    with integrator.sink(channel()) as sink:
        stream(sink)
        with pytest.raises(StreamingQueryException, match="start that one, with its checkpointLocation"):
            stream(sink, checkpoint="other")
        write(tmp_path, 1, [("a", 1, 2, 2)])
        stream(sink)
        forget(tmp_path, "offsets/1", "commits/1", "commits/0")
        with pytest.raises(StreamingQueryException, match="the query's checkpoint is older than the channel's state"):
            stream(sink)
    assert len(sent("a")) == 2


def test_a_batch_that_is_repeated_with_other_rows_is_refused(channel, stream, sent, tmp_path):
    write(tmp_path, 0, [("a", 1, 1, 1)])
    with integrator.sink(channel()) as sink:
        stream(sink)
        forget(tmp_path, "commits/0")
        stream(sink)
        forget(tmp_path, "offsets/0", "commits/0")
        write(tmp_path, 1, [("a", 1, 2, 2), ("a", 1, 3, 3)])
        with pytest.raises(StreamingQueryException, match=r"batch 0 is repeated with 3 rows, and \S+ has 1:"):
            stream(sink)
    assert len(sent("a")) == 1


def test_a_sink_is_called_by_a_stream_alone(channel, spark):
    with (
        integrator.sink(channel()) as sink,
        pytest.raises(EnvironmentFault, match=r"give it to writeStream\.foreachBatch"),
    ):
        sink(spark.range(1).selectExpr("1 hvr_op"), 0)


PROGRAM = """
import pathlib, sys
import integrator
from pyspark.sql import SparkSession

channel = pathlib.Path(sys.argv[-1])
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
incoming = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(channel.with_name("incoming")))
writer = incoming.writeStream.foreachBatch(integrator.sink(channel))
writer = writer.option("checkpointLocation", str(channel.with_name("checkpoint")))
writer.trigger(availableNow=True).start().awaitTermination()
"""


def test_each_change_is_sent_once_and_in_order_though_the_process_is_killed(
    channel, real_broker, sent, tmp_path, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for number in range(_BATCHES):
        write(tmp_path, number, [("ab"[k % 2], 2, k % 5, number * 100 + k) for k in range(100)])
    program, path = tmp_path / "program.py", channel()
    program.write_text(f"SCHEMA = {SCHEMA!r}\n{PROGRAM}")

    def killed_after(count, *, everything, delay):
        process = Daemon(path, program=[str(program)])
        process.wait_for("cycle synced", count)
        time.sleep(delay)
        process.kill(everything=everything)

    killed_after(1, everything=False, delay=0)  # the driver alone: the rest finds out
    killed_after(2, everything=True, delay=0.2)
    last = Daemon(path, program=[str(program)])
    assert last.wait() == 0, "\n".join(last.lines[-30:])
    for table in ("a", "b"):
        numbers = [number * 100 + k for number in range(_BATCHES) for k in range(100) if "ab"[k % 2] == table]
        messages = sent(table)
        assert sorted(one["n"] for one in messages) == numbers
        by_key = defaultdict(list)
        for one in messages:
            by_key[one["id"]].append((one["seq"], one["n"]))
        assert all(changes == sorted(changes) for changes in by_key.values())
        assert all(sorted(n for _, n in changes) == [n for _, n in changes] for changes in by_key.values())


@pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False))
def test_the_page_is_followed(database, broker, tmp_path, name):
    database.run("create table customers(id int primary key); insert into customers values (1), (2)")
    blocks = [block for block in pages.blocks() if block.page.name == "python.md"]
    [orders] = [block.text for block in blocks if block.language == "yaml"]
    code = "\n".join(block.text for block in blocks if block.language == "python")
    parts = code.split("import integrator\n")[1:]
    assert len(parts) == 3
    places = {
        "postgresql://cdc@localhost/shop": database.address,
        "localhost:9092": broker.servers,
        "shop.{hvr_tbl_name}": f"{name}.{{hvr_tbl_name}}",
    }

    def here(text):
        for old, new in places.items():
            text = text.replace(old, new)
        return text

    (tmp_path / "orders.yaml").write_text(here(orders))
    (tmp_path / "shop.sql").write_text("create table orders(id bigint primary key, amount numeric(10,2));")
    (tmp_path / "batches").mkdir()
    (tmp_path / "incoming").mkdir()
    (tmp_path / "incoming" / "1.json").write_text('{"id": 1, "amount": 2.50, "hvr_op": 1}\n')
    (tmp_path / "page.py").write_text("import integrator\n" + here("\nimport integrator\n".join(parts)))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "table orders → topic" in done.stdout
    customers = kafka_io.read_all(broker.servers, [f"{name}.public.customers"])
    assert sorted(json.loads(one.value)["payload"]["id"] for one in customers) == [1, 2]
    [order] = kafka_io.read_all(broker.servers, [f"{name}.orders"])
    assert json.loads(order.value)["payload"]["id"] == 1
