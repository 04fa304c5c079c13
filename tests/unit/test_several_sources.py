"""Several source locations in a channel: what goes together, and what does not."""

import pytest

from integrator import plan
from integrator.errors import ConfigurationError, EnvironmentFault
from integrator.replay import job

TEXT = """\
channel: both
locations:
  east: {class: files, path: east, dialect: hvr, table: t}
  west: {class: files, path: west, dialect: hvr, table: t}
  kaf: {class: kafka, Kafka_Brokers: [localhost]}
tables: [t.sql]
actions:
  - {action: Capture, group: SOURCE, NoTruncate: true}
  - {action: Integrate, MessageHeaders: "loc={hvr_cap_loc}"}
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.sql").write_text("create table t(k int primary key, v text);")

    def build(old="", new="", more=""):
        assert old in TEXT
        (tmp_path / "channel.yaml").write_text(TEXT.replace(old, new) + more)
        return plan.build("channel.yaml", "UTC")

    return build


def test_locations_of_files_with_the_same_settings_go_together(made, tmp_path):
    found = made()
    for location in ("east", "west"):
        (tmp_path / location).mkdir()
        (tmp_path / location / "1.jsonl").write_text("")
    listing = found.changes.listing(found.recipe.read.path)
    assert [one.path for one in listing.slices()] == [f"{name}|{tmp_path}/{name}/1.jsonl" for name in ("east", "west")]
    assert [listing.stream_of(one.path) for one in listing.slices()] == ["east", "west"]


def test_a_file_of_two_locations_is_an_error(made, tmp_path):
    found = made("path: west", "path: east")
    (tmp_path / "east").mkdir()
    (tmp_path / "east" / "1.jsonl").write_text("")
    with pytest.raises(EnvironmentFault, match=r"1.jsonl is a file of the locations east and west, and would be sent"):
        found.changes.listing(found.recipe.read.path).slices()


PROBLEMS = [
    ("west, dialect: hvr, table: t", "west, dialect: wal2json", "$.locations.west.dialect: is 'wal2json' here and 'hvr' at east"),
    ("west, dialect: hvr", "west, group: OTHER, dialect: hvr", "$.locations.west.group: is 'OTHER' here and 'SOURCE' at east"),
    ("group: SOURCE", "group: east", "'east' is one of several source locations, and what is captured is the same in all: write SOURCE"),
    ("[localhost]}", "[localhost], Kafka_Default_Topic: '{hvr_cap_loc}.t'}", "$.locations.kaf.Kafka_Default_Topic: {hvr_cap_loc} is another"),
    ("loc={hvr_cap_loc}", "d={hvr_cap_subdirs}", "MessageHeaders: {hvr_cap_subdirs} is below one directory"),
    ("[localhost]}", "[localhost], Kafka_Message_Bundling: TRANSACTION}", "TRANSACTION is not possible: transactions come side by side"),
    ("class: files, path: west", "class: socket, listen: '127.0.0.1:0'", "a channel has one location of class files or socket or kafka with topics or postgres or mysql or mariadb; found east, west"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "text"), PROBLEMS)
def test_what_does_not_go_together(old, new, text, made):
    with pytest.raises(ConfigurationError) as raised:
        made(old, new)
    assert text in str(raised.value)


def test_dead_letters_are_not_replayed_for_they_do_not_record_their_location(made):
    with pytest.raises(ConfigurationError, match="write mended records into a file of their location"):
        job.plan_of(made())
