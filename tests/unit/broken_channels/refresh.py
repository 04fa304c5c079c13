"""Mistakes in what a refresh reads: files, databases."""

from tests.unit.broken_channels.contract import broken
from tests.unit.broken_channels.edits import FULL, SNAPSHOT, source

CASES = [
    broken(
        "a refresh of a channel for changes",
        [],
        '2: $.locations: a channel has one location of class snapshot or jdbc; found none: add one, such as {class: snapshot, path: "full/{hvr_tbl_name}.csv", format: csv}',
        [("  kaf:", '  full: {class: snapshot, path: "full/{hvr_tbl_name}.csv", format: csv}\n  kaf:'), *FULL],
        "--refresh",
    ),
    broken(
        "no files for the refresh of a channel for changes",
        [("  kaf:", '  full: {class: snapshot, path: "full/{hvr_tbl_name}.csv", format: csv}\n  kaf:'), *FULL[:5]],
        "7: $.locations.full.path: table audit: there is no file full/audit.csv; make it, or mend the path",
        FULL[5:],
    ),
    broken(
        "changes are to be integrated where there are whole tables only",
        [source(*SNAPSHOT), *FULL],
        "2: $.locations: a channel has one location of class files or socket or kafka with topics or postgres or mysql or mariadb; found none: add one, such as {class: files, path: DIRECTORY}; or refresh the tables of src alone: the command is refresh, and check and plan have the option --refresh",
        ("  kaf:", "  in: {class: files, path: in}\n  kaf:"),
    ),
    broken(
        "no files of some tables",
        [source(*SNAPSHOT), *FULL[:2]],
        "5: $.locations.src.path: tables items, products, payments and 1 more: there is no file full/items.csv; make it, or mend the path",
        FULL[2:],
        "--refresh",
    ),
    broken(
        "a format of files is misspelled",
        [source("class: snapshot", 'path: "full/{hvr_tbl_name}.csv"', "format: cvs"), *FULL],
        "6: $.locations.src.format: 'cvs' is not one of 'csv', 'json', 'parquet', 'orc' or 'avro'; do you mean csv?",
        ("cvs", "csv"),
        "--refresh",
    ),
    broken(
        "a path without the table's name",
        [source("class: snapshot", "path: full/all.csv", "format: csv"), ("full/all.csv", "", "id\n"), *FULL],
        "5: $.locations.src.path: is the same for all 6 tables; write {hvr_tbl_name} in it",
        ("full/all.csv", "'full/{hvr_tbl_name}.csv'"),
        "--refresh",
    ),
    broken(
        "a JDBC URL without jdbc",
        source("class: jdbc", "url: postgresql://db:5432/shop"),
        "5: $.locations.src.url: 'postgresql://db:5432/shop' is no JDBC URL: it begins as jdbc:postgresql: does; write jdbc:postgresql://db:5432/shop",
        ("url: postgresql", "url: jdbc:postgresql"),
        "--refresh",
    ),
    broken(
        "a JDBC URL without slashes",
        source("class: jdbc", "url: jdbc:postgresql:db:5432/shop"),
        "5: $.locations.src.url: it has no // before the host; write jdbc:postgresql://HOST:PORT/DATABASE",
        ("jdbc:postgresql:db", "jdbc:postgresql://db"),
        "--refresh",
    ),
    broken(
        "a JDBC URL with a bad port",
        source("class: jdbc", "url: jdbc:mysql://db:33306x/shop"),
        "5: $.locations.src.url: 'db:33306x' has no port that can be; write HOST:PORT, with a port from 1 to 65535",
        ("33306x", "3306"),
        "--refresh",
        own="3306",
    ),
    broken(
        "a JDBC URL of an unknown database",
        source("class: jdbc", "url: jdbc:postgres://db/shop"),
        "5: $.locations.src.url: no driver takes jdbc:postgres: URLs; write jdbc:postgresql:",
        ("jdbc:postgres:", "jdbc:postgresql:"),
        "--refresh",
    ),
    broken(
        "a JDBC URL without a database",
        source("class: jdbc", "url: jdbc:postgresql://db"),
        "5: $.locations.src.url: it names no database; write jdbc:postgresql://HOST:PORT/DATABASE",
        ("//db", "//db/shop"),
        "--refresh",
        own="shop",
    ),
    broken(
        "a jar that is not there",
        source("class: jdbc", "url: jdbc:postgresql://db/shop", "jars: [driver.jar]"),
        "6: $.locations.src.jars[0]: there is no file driver.jar; give the path of the driver's jar",
        ("driver.jar", "", ""),
        "--refresh",
    ),
]
