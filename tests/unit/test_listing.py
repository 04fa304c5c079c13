"""Change files as they are listed: names, sizes and times as Arrow has them, and names that are no UTF-8."""

import os
import time
from pathlib import Path

import pyarrow.fs
import pytest

from integrator import plan
from integrator.cli import check
from integrator.errors import ConfigurationError, EnvironmentFault
from integrator.sources.files import listing as listings
from integrator.sources.files.listing import Listing
from integrator.sources.slices import Slice
from integrator.sources.watch import Watch

IGNORED = (".*", "*.tmp")


def listing(path, pattern="*", ignore=IGNORED, order="name"):
    return Listing(str(path), pattern, ignore, order)


def named(directory, *names):
    for name in names:
        (directory / os.fsdecode(name)).write_bytes(name)


NOT_UTF8 = {
    b"caf\xe9.jsonl": r"caf\xe9.jsonl",
    b"\xff": r"\xff",
    "Straße.jsonl".encode("latin-1"): r"Stra\xdfe.jsonl",
    b"\xed\xa0\x80.jsonl": r"\xed\xa0\x80.jsonl",
}


@pytest.mark.parametrize("written", NOT_UTF8)
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_name_that_is_not_utf8_is_told_with_its_bytes(written, scheme, tmp_path):
    named(tmp_path, b"a.jsonl", written)
    with pytest.raises(EnvironmentFault) as raised:
        listing(f"{scheme}{tmp_path}").slices()
    assert str(raised.value).startswith(f"{tmp_path}/{NOT_UTF8[written]}: its name is not UTF-8")
    assert "rename the file, or have the location's `ignore` match it" in str(raised.value)
    str(raised.value).encode("utf-8")


@pytest.mark.parametrize("written", NOT_UTF8)
def test_a_name_that_is_not_utf8_and_is_no_change_file_does_no_harm(written, tmp_path):
    named(tmp_path, b"a.jsonl", b"b.csv", written + b".tmp", b"." + written)
    (tmp_path / os.fsdecode(b"directory\xe9")).mkdir()
    assert [entry.path for entry in listing(tmp_path, "a*").slices()] == [f"{tmp_path}/a.jsonl"]
    assert len(listing(tmp_path).slices()) == 2
    assert len(listing(f"{tmp_path}/*.csv").slices()) == 1


def test_the_remedies_for_a_name_that_is_not_utf8(tmp_path):
    named(tmp_path, b"a.jsonl", b"caf\xe9.jsonl")
    assert len(listing(tmp_path, ignore=("caf*",)).slices()) == 1
    (tmp_path / os.fsdecode(b"caf\xe9.jsonl")).rename(tmp_path / "café.jsonl")
    assert [entry.path for entry in listing(tmp_path).slices()] == [f"{tmp_path}/a.jsonl", f"{tmp_path}/café.jsonl"]


def test_files_are_those_that_arrow_lists(tmp_path):
    """So that journals of earlier versions, which Arrow listed, have the same paths, sizes and times."""
    named(tmp_path, b"b", "ä".encode(), b"a b\n", b"c")
    (tmp_path / "link").symlink_to("b")
    (tmp_path / "broken").symlink_to("nothing")
    (tmp_path / "directory").mkdir()
    for path in (tmp_path, tmp_path / "directory" / ".." / ".", tmp_path / "b"):
        found = pyarrow.fs.LocalFileSystem().get_file_info(
            [str(path)] if path.is_file() else pyarrow.fs.FileSelector(str(path.absolute()))
        )
        files = [one for one in found if one.type == pyarrow.fs.FileType.File]
        expected = [Slice(one.path, one.size, one.mtime_ns) for one in files]
        assert sorted(listing(path).slices(), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_place_that_is_not_there_is_reported(scheme, tmp_path):
    with pytest.raises(EnvironmentFault, match="there is no such directory or file"):
        listing(f"{scheme}{tmp_path}/nothing").slices()


def test_a_directory_without_new_names_is_listed_again_only_after_a_rest(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_text("{}")
    now = [1000.0]
    monkeypatch.setattr(listings.time, "monotonic", lambda: now[0])
    watch = Watch(listing(tmp_path, "*.jsonl"))
    old, seen = time.time_ns() - 5 * 10**9, []

    def look(modified=old, rest=0):
        os.utime(tmp_path, ns=(modified, modified))
        watch._until = now[0] + rest
        files = watch.slices()
        seen.append(None if files is None else [Path(one.path).name for one in files])

    look()
    look(rest=5)
    look()  # after the rest: what was written into a file since it was taken is seen then
    (tmp_path / "b.jsonl").write_text("{}")
    look(old + 1, rest=5)
    assert seen == [["a.jsonl"], None, ["a.jsonl"], ["a.jsonl", "b.jsonl"]]


def test_until_all_is_listed_again_new_names_alone_are_looked_at(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(listings.time, "monotonic", lambda: now[0])
    watch = Watch(listing(tmp_path, "*.jsonl"))
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("{}")
    before = watch.slices()
    watch._until = now[0] + 5
    (tmp_path / "a.jsonl").write_text("{}{}")
    (tmp_path / "b.jsonl").unlink()
    (tmp_path / "c.jsonl").write_text("{}")
    first, added = watch.slices()
    assert first == before[0]
    assert added.path.endswith("c.jsonl")
    now[0] += 5
    assert [one.size for one in watch.slices()] == [4, 2]


def test_a_directory_that_has_just_changed_is_listed_each_time(tmp_path):
    watch = Watch(listing(tmp_path, "*.jsonl"))
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("{}")
        assert watch.slices()[-1].path == str(tmp_path / name)
    assert watch.slices() is not None


def test_a_name_that_the_listing_missed_is_not_passed_over(tmp_path, monkeypatch):
    """Of two files that came during a listing, readdir may return the later one only."""
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        (tmp_path / name).write_text("{}")
    whole = Listing.slices(listing(tmp_path, "*.jsonl"))
    named = {Path(one.path).name[0]: one for one in whole}
    looks = iter([[named["b"]], whole])
    monkeypatch.setattr(Listing, "slices", lambda *_: next(looks))
    assert Watch(listing(tmp_path, "*.jsonl")).slices() == [named["a"], named["b"]]


NO_FILES = {
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link in a ring": lambda path: (path.symlink_to("ring"), path.with_name("ring").symlink_to(path.name)),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to what a file cannot have in it": lambda path: path.symlink_to("a.jsonl/x"),
    "a link to too long a name": lambda path: path.symlink_to("x" * 300),
    "a link to a directory": lambda path: path.symlink_to("."),
    "a directory": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
}
PLACES = {
    "a directory": "{}",
    "a pattern": "{}/*.jsonl",
    "a URI": "file://{}",
    "a pattern in a URI": "file://{}/*.jsonl",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("what", NO_FILES)
def test_a_name_that_leads_to_no_file_does_no_harm(what, place, tmp_path):
    (tmp_path / "a.jsonl").write_text("{}")
    (tmp_path / "link.jsonl").symlink_to("a.jsonl")
    NO_FILES[what](tmp_path / "no.jsonl")
    found = listing(PLACES[place].format(tmp_path)).slices()
    assert [Path(entry.path).name for entry in found] == ["a.jsonl", "link.jsonl"]


def test_a_file_that_vanishes_between_its_name_and_its_size_is_not_there(tmp_path, monkeypatch):
    named(tmp_path, b"a.jsonl", b"b.jsonl")
    stat = os.stat

    def removed_before(path, **given):
        (tmp_path / "b.jsonl").unlink(missing_ok=True)
        return stat(path, **given)

    monkeypatch.setattr(listings.os, "stat", removed_before)
    assert [Path(entry.path).name for entry in listing(tmp_path).slices()] == ["a.jsonl"]


@pytest.fixture
def shut(tmp_path, monkeypatch):
    """A directory that this user may neither list nor search."""
    place = tmp_path / "shut"
    place.mkdir()

    def denying(do, *, itself):
        def done(path, *given, **named):
            text = str(Path(os.fsdecode(path)).absolute()) if isinstance(path, str | bytes | os.PathLike) else ""
            if text.startswith(f"{place}/") or (itself and text == str(place)):
                raise PermissionError(13, "Permission denied", text)
            return do(path, *given, **named)

        return done

    for name, itself in (("stat", False), ("scandir", True), ("listdir", True)):
        monkeypatch.setattr(os, name, denying(getattr(os, name), itself=itself))
    return place


DENIED = {
    "the directory": "{shut}: cannot be listed: Permission denied; give the integrator's user the right to",
    "below it": "{shut}/in: cannot be listed: Permission denied; give the integrator's user the right to",
    "a link into it": "{inbox}/x.jsonl: cannot be inspected: Permission denied; give the integrator's user the right to, or",
}


@pytest.mark.parametrize("what", DENIED)
def test_what_may_not_be_looked_at_is_an_error_that_names_it(what, shut, tmp_path):
    """It may be a change file, so it is not passed over."""
    inbox = tmp_path / "in"
    inbox.mkdir()
    (inbox / "x.jsonl").symlink_to(shut / "x.jsonl")
    stat = os.stat
    os.stat = lambda path, **given: stat(shut / "x.jsonl" if path == f"{inbox}/x.jsonl".encode() else path, **given)
    try:
        with pytest.raises(EnvironmentFault) as raised:
            listing({"the directory": shut, "below it": shut / "in", "a link into it": inbox}[what]).slices()
    finally:
        os.stat = stat
    assert DENIED[what].format(shut=shut, inbox=inbox) in str(raised.value)


NOT_READ = {
    "change files": ("class: files, path: {}/in", "t.sql", "$.locations.src.path: {}/in: cannot be listed: Permission"),
    "a definition": ("class: files, path: in", "{}/t.sql", "$.tables[0]: cannot be inspected (Permission denied): {}/t.sql"),
    "a certificate": ("class: socket, listen: '127.0.0.1:1', tls: {{certificate: '{}/c.pem'}}", "t.sql", "$.locations.src.tls: certificate: cannot be inspected (Permission denied): {}/c.pem"),
    "whole tables": ("class: snapshot, format: csv, path: {}", "t.sql", "$.locations.src.path: {}: cannot be listed: Permission"),
}  # fmt: skip


@pytest.mark.parametrize("what", NOT_READ)
def test_check_names_a_path_that_this_user_may_not_read(what, shut, tmp_path, monkeypatch):
    source, definition, expected = NOT_READ[what]
    (tmp_path / "in").mkdir()
    (tmp_path / "t.sql").write_text("create table t(k int primary key);")
    (tmp_path / "c.yaml").write_text(
        f"channel: c\nlocations:\n  src: {{{source.format(shut)}}}\n  kaf: {{class: kafka, Kafka_Brokers: [localhost]}}\n"
        f"tables: ['{definition.format(shut)}']\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError) as raised:
        check.inspect([plan.build("c.yaml", "UTC", refreshing=what == "whole tables")])
    text = str(raised.value).replace(str(shut), "shut")
    assert expected.format("shut") in text
