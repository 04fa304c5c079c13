"""Mistakes in sources: directories, sockets, modes."""

from tests.unit.broken_channels.contract import broken
from tests.unit.broken_channels.edits import source

CASES = [
    broken(
        "a directory of changes that is not there",
        ("path: in", "path: inn"),
        "5: $.locations.src.path: inn: there is no such directory or file; make it, or mend the path; do you mean in?",
        ("path: inn", "path: in"),
    ),
    broken(
        "a directory above is not there",
        ("path: in", "path: data/*.jsonl"),
        "5: $.locations.src.path: …/data: there is no such directory or file; make it, or mend the path",
        ("path: data/*.jsonl", "path: in/*.jsonl"),
    ),
    broken(
        "a socket without a port",
        source("class: socket", "listen: 127.0.0.1"),
        "5: $.locations.src.listen: '127.0.0.1' is no address: it is HOST:PORT, such as 127.0.0.1:7010",
        ("127.0.0.1", "127.0.0.1:7010"),
    ),
    broken(
        "a port that no socket has",
        source("class: socket", "listen: 127.0.0.1:70100"),
        "5: $.locations.src.listen: 127.0.0.1:70100 has no port that can be; a port is 0 to 65535, such as 7010",
        ("70100", "7010"),
    ),
    broken(
        "a socket that listens and connects",
        source("class: socket", "listen: 127.0.0.1:7010", "connect: 127.0.0.1:7011"),
        "5: $.locations.src.listen: either listen or connect is needed, and not both; leave one of them out",
        ("    connect: 127.0.0.1:7011\n", ""),
    ),
    broken(
        "a socket for everybody",
        source("class: socket", "listen: 0.0.0.0:7010"),
        "5: $.locations.src.listen: anyone who can reach 0.0.0.0 could send changes: set a secret, or tls with an authority; or listen on 127.0.0.1:7010, for this machine alone",
        ("0.0.0.0:7010", "127.0.0.1:7010"),
    ),
    broken(
        "TLS without a certificate",
        source("class: socket", "listen: 127.0.0.1:7010", "tls: {authority: shop.sql}"),
        "6: $.locations.src.tls: to listen with TLS, a certificate is needed; write certificate: FILE, a PEM file",
        ("{authority: shop.sql}", "{authority: shop.sql, certificate: shop.sql}"),
    ),
    broken(
        "a time zone that is none",
        ("path: in", "path: in\n    time_zone: Europe/Berln"),
        "6: $.locations.src.time_zone: 'Europe/Berln' is no IANA time zone; do you mean Europe/Berlin?",
        ("Europe/Berln", "Europe/Berlin"),
    ),
    broken(
        "a mode of Debezium in small letters",
        ("path: in", "path: in\n    debezium: {decimal_handling_mode: string}"),
        "6: $.locations.src.debezium.decimal_handling_mode: 'string' is not one of 'PRECISE', 'DOUBLE' or 'STRING'; do you mean STRING?",
        ("mode: string", "mode: STRING"),
    ),
    broken(
        "a mode of Debezium with points",
        ("path: in", "path: in\n    debezium: {decimal.handling.mode: STRING}"),
        "6: $.locations.src.debezium.decimal.handling.mode: this key is not known here; do you mean decimal_handling_mode?",
        ("decimal.handling.mode", "decimal_handling_mode"),
    ),
    broken(
        "seconds with a unit",
        ("path: in", "path: in\n    poll_seconds: 500ms"),
        "6: $.locations.src.poll_seconds: a number of seconds is wanted here, without its unit: for 500ms write 0.5",
        ("500ms", "0.5"),
    ),
    broken(
        "a table for records that name theirs",
        ("path: in", "path: in\n    table: orders"),
        "6: $.locations.src.table: records of the wal2json dialect name their tables: leave it out",
        ("    table: orders\n", ""),
    ),
]
