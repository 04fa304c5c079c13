"""Records Debezium's change events of a PostgreSQL of its own, in several settings, as data for tests.

    python -m tests.parts.debezium.record [setting ...]

The statements are tests/data/debezium/{tables,before,during}.sql: the tables, what a snapshot finds, and what is streamed. Each
setting has a database of its own, in which they run; what it recorded is there as NAME.jsonl (the values, null for a
tombstone) and keys/NAME.tsv (line by line, the topic and the key). final.json has what is in the tables afterwards, which is
the same for all: a table's rows, each column as the text that PostgreSQL writes.

Debezium comes from Maven Central; it needs mvn, Java 17 or newer, and PostgreSQL's server programs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.parts import postgres
from tests.parts.brokers import LIBRARIES
from tests.parts.waiting import PATIENCE_S

HERE = Path(__file__).parent
DATA = HERE.parent.parent / "data" / "debezium"
JARS = LIBRARIES.parent / "debezium-libs"
PREFIX = "shop"
"""Debezium's topic.prefix, and its name for the source."""
END = "end-of-recording"

ALWAYS = {"topic.prefix": PREFIX, "schema.include.list": "public", "skipped.operations": "none"}
"""Truncates are left out by default; all else is as it is by default."""
PLAIN = {"converter.schemas.enable": "false", "provide.transaction.metadata": "true"}
WITH_SCHEMA = {
    "converter.schemas.enable": "true",
    "table.include.list": "public.types,public.documents,public.baskets",
}
"""A schema in each message makes large files, so that these have a part of the tables only."""
SETTINGS: dict[str, dict[str, str]] = {
    "plain": PLAIN,
    "with_schema": WITH_SCHEMA,
    "with_schema_connect": WITH_SCHEMA
    | {
        "time.precision.mode": "connect",
        "decimal.handling.mode": "double",
        "binary.handling.mode": "hex",
    },
    "plain_string": {
        "converter.schemas.enable": "false",
        "decimal.handling.mode": "string",
        "binary.handling.mode": "base64-url-safe",
        "time.precision.mode": "isostring",
        "interval.handling.mode": "string",
    },
    "plain_micro": {"converter.schemas.enable": "false", "time.precision.mode": "microseconds"},
    "plain_nano": {"converter.schemas.enable": "false", "time.precision.mode": "nanoseconds"},
    "flat": {
        "converter.schemas.enable": "false",
        "transforms": "flat",
        "transforms.flat.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.flat.delete.tombstone.handling.mode": "rewrite",
        "transforms.flat.add.fields": "op,source.lsn,source.txId,source.ts_us,source.table,source.sequence",
    },
}


def missing() -> str:
    """What a recording needs and is not here; nothing if all is."""
    return postgres.missing(wal2json=False) or programs_missing()


def programs_missing() -> str:
    """Which programs to run Debezium are not on the PATH; nothing if all are."""
    absent = [program for program in ("java", "mvn") if not shutil.which(program)]
    return f"no {' and no '.join(absent)} on the PATH" if absent else ""


def libraries(jars: Path = JARS, profile: str = "") -> str:
    """The class path of Debezium's jars, fetched from Maven Central if need be; profile: of the pom."""
    if not jars.exists():
        command = ["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), *([f"-P{profile}"] if profile else [])]
        command += ["dependency:copy-dependencies", "-DincludeScope=runtime"]
        command += [f"-DoutputDirectory={jars}.part", f"-DbuildDirectory={jars}.build"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Maven Central gave no Debezium: {done.stdout[-2000:]}")
        Path(f"{jars}.part").rename(jars)
    return f"{jars}/*"


def statements(name: str) -> str:
    """The text of one of the SQL files."""
    return (DATA / f"{name}.sql").read_text(encoding="utf-8")


def record(
    server: postgres.Postgres, database: str, properties: dict[str, str], values: Path, keys: Path, log: Path
) -> None:
    """Run the statements in a new database, and record what Debezium makes of them; its warnings go to the log."""
    server.psql(f"create database {database}")
    server.psql(statements("tables") + statements("before"), database)
    own = {"slot.name": database, "publication.name": database, "record.end": END, "database.user": server.user}
    where = [str(values), str(keys), server.host, str(server.port), database]

    def change() -> None:
        server.psql(statements("during"), database)
        server.psql(f"select pg_logical_emit_message(false, '{END}', '')", database)

    capture(libraries(), where, ALWAYS | own | properties, log, lambda: _streams(server, database), change)


def capture(
    class_path: str,
    where: Sequence[str],
    properties: dict[str, str],
    log: Path,
    streams: Callable[[], bool],
    change: Callable[[], object],
) -> None:
    """Run Record.java (where: its first arguments); make changes when the snapshot is done and they are streamed.

    The last of them ends the recording.
    """
    words = [f"{name}={value}" for name, value in properties.items()]
    java = ["java", "-Xmx512m", "-Duser.timezone=UTC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*java, "-cp", class_path, str(HERE / "Record.java"), *where, *words], stdout=errors, stderr=errors
        )
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not streams():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{log.stem} does not stream: {log.read_text(errors='replace')[-4000:]}")
                time.sleep(0.2)
            change()
            code = process.wait(PATIENCE_S)
        finally:
            process.kill()
            process.wait()
    if code:
        raise RuntimeError(f"{log.stem}: {log.read_text(errors='replace')[-4000:]}")


def _streams(server: postgres.Postgres, database: str) -> bool:
    streaming = """
        select s.slot_name from pg_replication_slots s join pg_stat_replication r on r.pid = s.active_pid
        where r.state = 'streaming'
    """
    return database in server.psql(streaming).split()


def tables_of(server: postgres.Postgres, database: str) -> dict[str, list[dict[str, str | None]]]:
    """Every table's rows by id, each column as the text that PostgreSQL writes; nulls are null.

    char(n) keeps its blanks, which a cast to text would take away.
    """
    columns = """
        select json_agg(json_build_array(table_name, column_name, data_type) order by table_name, ordinal_position)
        from information_schema.columns where table_schema = 'public'
    """

    def query(table: str, chosen: Sequence[str]) -> str:
        rows = f'select {", ".join(chosen)} from "{table}" o order by o.id'
        return f"select row_to_json(a_row) from ({rows}) a_row"

    texts: dict[str, list[str]] = {}
    for table, column, kind in json.loads(server.psql(columns, database)):
        text = (
            f'case when "{column}" is not null then concat("{column}") end'
            if kind == "character"
            else f'"{column}"::text'
        )
        texts.setdefault(table, []).append(f'{text} as "{column}"')
    return {
        table: [json.loads(line) for line in server.psql(query(table, chosen), database).splitlines()]
        for table, chosen in texts.items()
    }


def main(chosen: Sequence[str]) -> None:
    """Record the settings of these names, or all."""
    if missing():
        sys.exit(missing())
    logs = JARS.parent / "debezium-logs"
    for folder in (DATA / "keys", logs):
        folder.mkdir(parents=True, exist_ok=True)
    finals = []
    with postgres.cluster() as server:
        for name in chosen or SETTINGS:
            values, keys, log = DATA / f"{name}.jsonl", DATA / "keys" / f"{name}.tsv", logs / f"{name}.log"
            record(server, name, SETTINGS[name], values, keys, log)
            finals.append(tables_of(server, name))
            print(f"{name}: {len(values.read_bytes().splitlines())} records, {values.stat().st_size} bytes")
    write_final(DATA / "final.json", finals)


def write_final(path: Path, finals: Sequence[dict[str, list[dict[str, str | None]]]]) -> None:
    """Write the tables at the end, which must be the same in all settings."""
    assert all(final == finals[0] for final in finals), "the settings' tables differ"
    rows = ",\n".join(
        f"{json.dumps(table)}: [\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in found) + "\n]"
        for table, found in finals[0].items()
    )
    path.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
