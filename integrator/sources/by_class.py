"""The sources of changes, by the model of their location."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from integrator.channel.databases import MariaDbLocation, MySqlLocation, PostgresLocation
from integrator.channel.sources import FilesLocation, SocketLocation, SourceLocation
from integrator.channel.topics import TopicsLocation
from integrator.sources.binlog.source import BinlogSource
from integrator.sources.contract import Source
from integrator.sources.files.source import Files
from integrator.sources.kafka.source import Topics
from integrator.sources.postgres.source import Postgres
from integrator.sources.sockets.source import Socket

SOURCES: dict[type[SourceLocation], Callable[[Any], Source]] = {
    FilesLocation: Files,
    SocketLocation: Socket,
    TopicsLocation: Topics,
    PostgresLocation: Postgres,
    MySqlLocation: BinlogSource,
    MariaDbLocation: BinlogSource,
}
