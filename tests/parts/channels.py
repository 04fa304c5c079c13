"""Channels for tests."""

from __future__ import annotations

from pathlib import Path

SHOP_SQL = str(Path(__file__).parents[2] / "schemas" / "shop.sql")
"""The definitions of the recorded shop's tables."""
TIMEKEY = """
  - {action: ColumnProperties, Name: op_val, Datatype: integer, Extra: true, IntegrateExpression: "{hvr_op}"}
  - {action: ColumnProperties, Name: integ_seq, Datatype: varchar, Length: 45, Extra: true, TimeKey: true,
     IntegrateExpression: "{hvr_integ_seq}"}
"""


def shop(
    directory: Path, servers: str, prefix: str, dialect: str = "wal2json", more: str = "", kafka: str = ""
) -> Path:
    """A channel over the recorded shop's tables: files in `directory`/in, topics PREFIX.TABLE, state beside them."""
    (directory / "in").mkdir(parents=True, exist_ok=True)
    path = directory / "channel.yaml"
    path.write_text(
        f"""
channel: shop
state: {directory}/state
locations:
  src: {{class: files, path: {directory}/in, dialect: {dialect}, poll_seconds: 0.1}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{prefix}.{{hvr_tbl_name}}"{kafka}}}
tables: [{SHOP_SQL}]
actions:
  - {{action: Environment, Name: HVR_KAFKA_MSG_DELIVERY_TIMEOUT, Value: "20"}}
{TIMEKEY}{more}
"""
    )
    return path


SHOP_TABLES = ("audit", "customers", "orders", "products")


def shop_topics(prefix: str) -> list[str]:
    return [f"{prefix}.{table}" for table in SHOP_TABLES]


def cut(source: Path, directory: Path, files: int) -> None:
    """Cut the lines of `source` into `files` files of about equal size, in order."""
    lines = source.read_bytes().splitlines(keepends=True)
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        part = lines[len(lines) * number // files : len(lines) * (number + 1) // files]
        (directory / f"changes-{number:04d}.jsonl").write_bytes(b"".join(part))
