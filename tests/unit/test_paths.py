"""Paths in a channel are relative to its file, wherever the command is started; what was found elsewhere is not lost."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from integrator import plan
from integrator.channel import paths
from integrator.cli import main
from integrator.errors import ConfigurationError
from integrator.sources.files import moved
from integrator.sources.files.listing import Listing
from integrator.sources.journal.journal import Journal
from tests.parts.channels import SHOP_SQL

FILES = "class: files, path: in, dialect: hvr"
SOCKET = "class: socket, listen: '127.0.0.1:1', dialect: hvr"
TLS = "Kafka_Tls: true"
REGISTRY = "Kafka_Schema_Registry: 'http://r', Schema_Registry"
JAAS = 'com.sun.security.auth.module.Krb5LoginModule required keyTab="FILE" principal="me@HERE";'

PLACES = [
    # the source, the Kafka location, HVR_KAFKA_PROPERTY, whether to refresh, and what of the plan is the file's place
    ("class: files, path: FILE, dialect: hvr", TLS, "", False, lambda made: made.recipe.read.path),
    ("class: files, path: '*.pem', dialect: hvr", TLS, "", False, lambda made: made.recipe.read.path[:-5] + "ca.pem"),
    (f"{SOCKET}, tls: {{certificate: FILE}}", TLS, "", False, lambda made: made.source.location.tls.certificate),
    (
        f"{SOCKET}, tls: {{certificate: FILE, private_key: FILE}}",
        TLS,
        "",
        False,
        lambda m: m.source.location.tls.private_key,
    ),
    (
        f"{SOCKET}, tls: {{certificate: FILE, authority: FILE}}",
        TLS,
        "",
        False,
        lambda m: m.source.location.tls.authority,
    ),
    ("class: snapshot, path: FILE, format: csv", TLS, "", True, lambda made: made.source.location.path),
    (
        "class: snapshot, path: s3://b/x, format: csv, jars: [FILE]",
        TLS,
        "",
        True,
        lambda made: made.source.location.jars[0],
    ),
    ("class: jdbc, url: 'jdbc:db2:x', jars: [FILE]", TLS, "", True, lambda made: made.source.location.jars[0]),
    (FILES, "Stream_Public_Certificate: FILE", "", False, "ssl.ca.location"),
    (
        FILES,
        f"{TLS}, Stream_Client_Public_Certificate: FILE, Stream_Client_Private_Key: FILE",
        "",
        False,
        "ssl.key.location",
    ),
    (
        FILES,
        "Kafka_Authentication_Method: KERBEROS, Kafka_Kerberos_Client_Principal: me, Kafka_Kerberos_Keytab: FILE",
        "",
        False,
        "sasl.kerberos.keytab",
    ),
    (FILES, f"Sasl_Jaas_Config: '{JAAS}'", "", False, "sasl.kerberos.keytab"),
    (
        FILES,
        "Kafka_Authentication_Method: OAUTHBEARER, Kafka_Oauth_Token_Url: 'https://t', Stream_User: u, "
        "Stream_Password: p4ssword, Kafka_Oauth_Authority: FILE",
        "",
        False,
        "https.ca.location",
    ),
    (FILES, TLS, "ssl.crl.location=FILE", False, "ssl.crl.location"),
    (
        FILES,
        f"{REGISTRY}: {{CA_Certificate: FILE}}",
        "",
        False,
        lambda made: made.registry.access.client["ssl.ca.location"],
    ),
    (
        FILES,
        f"{REGISTRY}: {{Client_Certificate: FILE, Client_Private_Key: FILE}}",
        "",
        False,
        lambda made: made.registry.access.client["ssl.key.location"],
    ),
]


def written(directory, source=FILES, kafka=TLS, variable="", tables="shop.sql", more=""):
    """A channel's file in `directory`, beside it shop.sql and ca.pem; FILE is its path from there."""
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copy(SHOP_SQL, directory / "shop.sql")
    (directory / "ca.pem").write_text("the text of a file")
    action = f"[{{action: Environment, Name: HVR_KAFKA_PROPERTY, Value: '{variable}'}}]" if variable else "[]"
    text = (
        f"channel: shop\n{more}locations:\n  src: {{{source}}}\n"
        f"  kaf: {{class: kafka, Kafka_Brokers: [localhost], {kafka}}}\ntables: [{tables}]\nactions: {action}\n"
    )
    (directory / "shop.yaml").write_text(text.replace("FILE", "ca.pem"))
    return directory / "shop.yaml"


def refusal(channel):
    with pytest.raises(ConfigurationError) as raised:
        plan.build(str(channel), "UTC")
    return str(raised.value)


@pytest.mark.parametrize("here", ["conf", ".", "elsewhere"])
@pytest.mark.parametrize(("source", "kafka", "variable", "refreshing", "of"), PLACES)
def test_each_path_is_relative_to_the_channels_file(
    source, kafka, variable, refreshing, of, here, tmp_path, monkeypatch
):
    tables = "{file: shop.sql, only: [orders]}" if "snapshot" in source else "shop.sql"
    channel = written(tmp_path / "conf", source, kafka, variable, tables)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / here)
    made = plan.build(os.path.relpath(channel), "UTC", refreshing=refreshing)
    place = made.recipe.send.producer[of] if isinstance(of, str) else of(made)
    assert place == str(tmp_path / "conf" / "ca.pem")
    assert made.state == str(tmp_path / "conf" / "state" / "shop")
    assert len(made.recipe.tables) == (1 if "snapshot" in source else 4)


def test_a_secrets_file_is_beside_the_channel(tmp_path, monkeypatch):
    channel = written(tmp_path / "conf", kafka="Kafka_Default_Topic: '${file:topic}.{hvr_tbl_name}'")
    (tmp_path / "conf" / "topic").write_text("mine\n")
    monkeypatch.chdir(tmp_path)
    assert plan.build(str(channel), "UTC").topics[0] == "mine.audit"


WRITTEN = [
    # a path in a channel, and its place; DIR is the directory of the channel
    ("in", "DIR/in"),
    ("./in", "DIR/./in"),
    ("../in", "PARENT/in"),
    ("link/../in", "DIR/link/../in"),
    ("{hvr_tbl_name}/*.csv", "DIR/{hvr_tbl_name}/*.csv"),
    ("/data/../in/", "/data/../in/"),
    ("s3://bucket/in?region=eu", "s3://bucket/in?region=eu"),
    ("hdfs:/in", "hdfs:/in"),
    ("file:///in", "file:///in"),
    ("file:in", "file:in"),
    ("12:30.jsonl", "DIR/12:30.jsonl"),
]


@pytest.mark.parametrize(("path", "place"), WRITTEN)
def test_uris_and_absolute_paths_stay(path, place, tmp_path):
    (tmp_path / "other" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "other" / "deep")
    expected = place.replace("DIR", str(tmp_path)).replace("PARENT", str(tmp_path.parent))
    assert paths.resolved(path, str(tmp_path)) == expected


def test_a_channel_has_the_same_places_by_whatever_way_it_is_reached(tmp_path, monkeypatch):
    channel = written(tmp_path / "conf")
    (tmp_path / "link").symlink_to(tmp_path / "conf")
    monkeypatch.chdir(tmp_path)
    ways = [str(channel), "conf/shop.yaml", "link/shop.yaml", f"{tmp_path}/link/../conf/shop.yaml"]
    assert {plan.build(way, "UTC").recipe.read.path for way in ways} == {f"{tmp_path}/conf/in"}


def test_messages_name_files_as_they_may_be_opened_here(tmp_path, monkeypatch):
    channel = written(tmp_path / "conf")
    (tmp_path / "conf" / "shop.sql").write_text("create tabel t (a int);")
    monkeypatch.chdir(tmp_path)
    assert refusal(channel).startswith("conf/shop.sql:1: ")
    monkeypatch.chdir("/")
    assert refusal(channel).startswith(f"{tmp_path}/conf/shop.sql:1: ")


USER = "Kafka_Authentication_Method: USER_PASS, Stream_Password: x"
MOVED = [
    # what is written otherwise, and the path that was found where the command is started
    ({"tables": "old.sql"}, "$.tables[0]", "old.sql"),
    ({"tables": "{file: old.sql}"}, "$.tables[0].file", "old.sql"),
    ({"source": "class: files, path: old, dialect: hvr"}, "$.locations.src.path", "old"),
    ({"source": "class: files, path: 'old/*.jsonl', dialect: hvr"}, "$.locations.src.path", "old/*.jsonl"),
    ({"kafka": "Stream_Public_Certificate: old.sql"}, "$.locations.kaf.Stream_Public_Certificate", "old.sql"),
    ({"kafka": f"{USER}, Stream_User: '${{file:old.sql}}'"}, "$.locations.kaf.Stream_User", "old.sql"),
    ({"variable": "ssl.crl.location=old.sql"}, "$.actions[0].Value", "old.sql"),
]


@pytest.mark.parametrize(("other", "place", "path"), MOVED)
def test_what_is_only_where_the_command_is_started_is_named(other, place, path, tmp_path, monkeypatch):
    channel = written(tmp_path / "conf", **other)
    shutil.copy(SHOP_SQL, tmp_path / "old.sql")
    (tmp_path / "old").mkdir()
    monkeypatch.chdir(tmp_path)
    said = [line for line in refusal(channel).splitlines() if place in line]
    assert len(said) == 1
    assert f"for the one in the directory of the command, write {tmp_path}/{path}" in said[0]


def test_problems_of_later_phases_are_reported_beside_it(tmp_path, monkeypatch):
    channel = written(tmp_path / "conf", tables="old.sql", kafka="Kafka_Default_Topic: '{hvr_tabel_name}'")
    shutil.copy(SHOP_SQL, tmp_path / "old.sql")
    monkeypatch.chdir(tmp_path)
    first, second = sorted(refusal(channel).splitlines(), reverse=True)
    assert "$.tables[0]: relative paths are relative to the channel's file" in first
    assert "$.locations.kaf.Kafka_Default_Topic: " in second


LIKE = [
    # what is written otherwise, and what is there and meant: a path as the channel names it
    ({"tables": "shp.sql"}, "$.tables[0]", "shop.sql"),
    ({"tables": "defs/shp.sql"}, "$.tables[0]", "defs/shop.sql"),
    ({"source": "class: files, path: inn, dialect: hvr"}, "$.locations.src.path", "in"),
    ({"source": "class: files, path: data/inn, dialect: hvr"}, "$.locations.src.path", "data/in"),
]


@pytest.mark.parametrize("here", ["conf", ".", "/"])
@pytest.mark.parametrize(("other", "place", "meant"), LIKE)
def test_what_is_meant_is_named_as_the_channel_names_it(other, place, meant, here, tmp_path, capsys, monkeypatch):
    channel = written(tmp_path / "conf", **other)
    for directory in ("in", "data/in", "defs"):
        (tmp_path / "conf" / directory).mkdir(parents=True)
    shutil.copy(SHOP_SQL, tmp_path / "conf" / "defs" / "shop.sql")
    monkeypatch.chdir(tmp_path / here)
    code, printed = run(capsys, monkeypatch, "check", "--channel", channel)
    [found] = [line for line in printed.splitlines() if place in line]
    assert (code, found.rpartition("; ")[2]) == (2, f"do you mean {meant}?")


def test_what_is_written_for_it_is_the_path_that_it_had(tmp_path, monkeypatch):
    channel = written(tmp_path / "conf", source="class: files, path: old, dialect: hvr")
    (tmp_path / "old").mkdir()
    monkeypatch.chdir(tmp_path)
    named = refusal(channel).rpartition("write ")[2].split()[0]
    channel.write_text(channel.read_text().replace("path: old", f"path: {named}"))
    assert plan.build(str(channel), "UTC").recipe.read.path == str(Path("old").absolute())


def run(capsys, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["integrator", *map(str, words)])
    code, printed = main.main(), capsys.readouterr()
    return code, printed.out + printed.err


def test_a_command_may_be_started_where_the_directory_is_gone(tmp_path, monkeypatch):
    channel = written(tmp_path / "conf")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert plan.build(str(channel), "UTC").recipe.read.path == str(tmp_path / "conf" / "in")


GIVEN = [
    # definitions given where the command is started, the channel's file, and how this names them
    ("a.sql", "c.yaml", "a.sql"),
    ("sub/a.sql", "c.yaml", "sub/a.sql"),
    ("a.sql", "sub/c.yaml", "../a.sql"),
    ("a.sql", "link/c.yaml", "../../a.sql"),
    ("link/../a.sql", "c.yaml", "other/a.sql"),
    ("/abs/a.sql", "sub/c.yaml", "/abs/a.sql"),
    ("s3://b/a", "c.yaml", "s3://b/a"),
]


@pytest.mark.parametrize(("given", "channel", "name"), GIVEN)
def test_how_a_channel_names_what_is_given_to_a_command(given, channel, name, tmp_path, monkeypatch):
    for directory in ("sub", "other/deep"):
        (tmp_path / directory).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "other" / "deep")
    monkeypatch.chdir(tmp_path)
    assert paths.in_channel(given, channel) == name


def test_init_names_files_from_the_channels_directory(tmp_path, capsys, monkeypatch):
    (tmp_path / "conf").mkdir()
    shutil.copy(SHOP_SQL, tmp_path / "shop.sql")
    monkeypatch.chdir(tmp_path)
    code, printed = run(capsys, monkeypatch, "init", "--tables", "shop.sql", "--channel", "conf/c.yaml")
    assert code == 0, printed
    text = (tmp_path / "conf" / "c.yaml").read_text()
    assert "{file: ../shop.sql, sql_dialect: postgres}" in text
    assert "path: ../changes}" in text


def taken(tmp_path, files):
    journal = Journal(tmp_path / "files.jsonl")
    journal.take(files)
    return Journal(tmp_path / "files.jsonl")


def listed(path):
    return Listing(str(path), "*", (), "name").slices()


def test_a_file_that_is_known_by_another_path_is_not_sent_again(tmp_path):
    for directory in ("in", "x"):
        (tmp_path / directory).mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / "in" / name).write_text("{}")
    journal = taken(tmp_path, listed(tmp_path / "x" / ".." / "in"))
    with pytest.raises(ConfigurationError, match=rf"{tmp_path}/in/a.jsonl: is known .* in {tmp_path}/x/\.\./in, as"):
        moved.check(journal, listed(tmp_path / "in"))
    moved.check(journal, listed(tmp_path / "x" / ".." / "in"))


def test_another_file_of_the_same_name_is_another_file(tmp_path):
    for directory in ("in", "new"):
        (tmp_path / directory).mkdir()
        (tmp_path / directory / "a.jsonl").write_text("{}")
        os.utime(tmp_path / directory / "a.jsonl", ns=(0, 0))
    moved.check(taken(tmp_path, listed(tmp_path / "in")), listed(tmp_path / "new"))


def test_a_path_with_nul_is_none(tmp_path):
    assert "$.tables[0]: a path has no NUL" in refusal(written(tmp_path / "conf", tables='"a\\0.sql"'))
