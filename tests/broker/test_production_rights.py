"""The rights that the pages have for a database's user are enough for a capture, and none is one too many.

Real servers; neither Kafka nor Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from integrator import plan
from integrator.channel.databases import BinlogLocation, PostgresLocation
from integrator.errors import IntegratorError
from integrator.sources.binlog import server as binlog_server
from integrator.sources.binlog import stream as binlog
from integrator.sources.capture.frames import FRAMES
from integrator.sources.postgres import slot, stream
from integrator.sources.postgres.server import Server
from integrator.sources.spool import Spool
from tests.broker.test_production_page import PAGE, TABLES
from tests.parts import mariadb, mysql, pages, postgres
from tests.parts.spooled import lines_in

PASSWORD = "change-me"
UNDO = {
    "create role integrator login replication password 'change-me'": "alter role integrator noreplication",
    "create publication integrator_shop for table public.customers, public.orders with "
    "(publish_via_partition_root = true)": "drop publication integrator_shop",
}
"""Of statements that are no grants, or are done again by another one: what takes away what they gave."""
REDO = {"alter role integrator noreplication": "alter role integrator replication"}
SERVERS = {"MySQL": mysql, "MariaDB": mariadb}


def wrong(address: str, class_: str, directory: Path) -> str:
    """What keeps a channel from capturing, as `check --connect` has it of the database; nothing where nothing does."""
    path = directory / "shop.yaml"
    path.write_text(
        f"channel: shop\nlocations:\n  src: {{class: {class_}, address: '{address}'}}\n"
        '  kaf: {class: kafka, Kafka_Brokers: ["localhost:9"], Kafka_Default_Topic: "{hvr_tbl_name}"}\n'
    )
    try:
        made = plan.build(str(path), "UTC")
        left_out = [note for note in made.notes if "not captured" in note]
        return "\n".join([*left_out, *(text for _, text in made.changes.reach(""))])
    except IntegratorError as error:
        return str(error)


def captured(capture: Callable[[Spool], None], directory: Path) -> list[object]:
    """The lines of what a capture writes until it has caught up."""
    spool = Spool(directory, framing=FRAMES)
    try:
        capture(spool)
    finally:
        spool.close()
    return list(lines_in(directory))


@pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False))
def test_rights_in_postgresql(tmp_path: Path) -> None:
    [block] = [one.text for one in pages.blocks() if one.page == PAGE and one.language == "sql"]
    statements = [one.strip() for one in block.split(";") if one.strip()]
    with postgres.cluster() as server:
        server.psql("create database shop")
        server.psql(TABLES, "shop")
        server.psql(";\n".join(statements) + ";", "shop")
        address = f"postgresql://integrator:{PASSWORD}@{server.host}:{server.port}/shop"
        assert wrong(address, "postgres", tmp_path) == ""
        undone = 0
        for statement in statements:
            undo = UNDO.get(statement) or re.sub(r"^grant (.*) to ", r"revoke \1 from ", statement)
            if undo == statement:  # a setting
                continue
            server.psql(undo, "shop")
            assert wrong(address, "postgres", tmp_path), undo
            server.psql(REDO.get(undo, statement), "shop")
            undone += 1
        assert undone == 5
        location = PostgresLocation(**{"class": "postgres", "address": address})
        at = stream.Captures(location, Server(address, "test"), slot.names_of(location, "shop"))
        lines = captured(lambda spool: at.capture(spool, "shop").catch_up(), tmp_path / "spool")
        assert len(lines) == 102


@pytest.mark.parametrize("product", SERVERS)
def test_rights_in_mysql_and_mariadb(product: str, tmp_path: Path) -> None:
    parts = SERVERS[product]
    if parts.missing():
        pytest.skip(parts.missing())
    [block] = re.findall(rf"In {product}:\n\n```mysql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    statements = [one.strip() for one in block.split(";") if one.strip()]
    assert len(statements) == 3
    with parts.cluster("binlog_row_metadata = FULL\n") as server:
        server.sql("create database shop; use shop; create table t(k int primary key); insert into t values (1), (2)")
        for statement in statements:
            server.sql(statement)
        address = f"{product.lower()}://integrator:{PASSWORD}@{server.host}:{server.port}/shop"

        def missing(directory: Path) -> str:
            location = BinlogLocation(**{"class": product.lower(), "address": address})
            at = binlog.Captures(location, binlog_server.Server(address))
            with capture_logs() as logs:
                try:
                    lines = captured(lambda spool: at.capture(spool, "shop").catch_up(), directory)
                except IntegratorError as error:
                    return str(error)
            assert len(lines) == 2
            return "".join(one["remedy"] for one in logs if "our user may not" in one["event"])

        assert wrong(address, product.lower(), tmp_path) + missing(tmp_path / "all") == ""
        for statement in statements[1:]:
            rights, place = re.findall(r"^grant (.*) on (\S+) to integrator@'%'$", statement)[0]
            for right in rights.split(", "):
                server.sql(f"revoke {right} on {place} from integrator@'%'")
                assert wrong(address, product.lower(), tmp_path) or missing(tmp_path / right), right
                server.sql(f"grant {right} on {place} to integrator@'%'")
