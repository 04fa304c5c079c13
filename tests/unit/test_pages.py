"""What the pages are made and read with: graphs of tables, parts of channels, commands, links in the site."""

import re

import pytest
import yaml

from tests import graphs, site_hooks
from tests.parts import pages

TABLE = """\
| step | rows/s | of | memory |
| --- | ---: | --- | ---: |
| [`a` \\| b](x.md) | **1,234,567** | x | 0.31 s |
| c | 1.5 | 7 | 12 MiB |
"""


def test_a_graph_has_the_columns_of_a_table_that_are_numbers():
    made = graphs.graph("Title", TABLE)
    assert made == graphs.Graph("Title", ["a | b", "c"], {"rows/s": [1234567, 1.5], "memory": [0.31, 12]})
    picture = graphs.svg(made)
    assert ">1,234,567<" in picture
    assert [int(width) for width in re.findall(r'width="(\d+)" height="15"', picture)] == [420, 1, 1, 1]


def test_a_graph_of_a_table_without_numbers_is_refused():
    with pytest.raises(ValueError, match="no column of numbers"):
        graphs.graph("Title", "| a | b |\n| --- | --- |\n| x | y |\n")


PARTS = [
    ("delivery: exactly_once\n", {"delivery": "exactly_once"}),
    ("  - {action: Capture, NoTruncate: true}\n", {"actions": [{"action": "Capture", "NoTruncate": True}]}),
    ("# one\n  kaf: {…, Kafka_Tls: true}\nactions: []\n", {"actions": []}),
    ("tables: [x.sql]\n", {"tables": ["x.sql"]}),
]


@pytest.mark.parametrize(("text", "expected"), PARTS)
def test_a_part_of_a_channel_is_completed(text, expected):
    made = yaml.safe_load(pages.completed(text))
    assert {name: made[name] for name in expected} == expected
    assert {"channel", "locations", "tables"} <= made.keys()


def test_a_part_of_a_location_is_completed_and_another_class_is_not():
    made = yaml.safe_load(
        pages.completed('  kaf: {…, Kafka_Tls: true}\n  src: {class: socket, listen: "127.0.0.1:1"}\n')
    )
    assert made["locations"]["kaf"]["Kafka_Brokers"] == ["localhost:9092"]
    assert made["locations"]["kaf"]["Kafka_Tls"]
    assert made["locations"]["src"] == {"class": "socket", "listen": "127.0.0.1:1"}


def test_a_whole_channel_stays_as_it_is():
    assert pages.completed("channel: x\nlocations: {}\n") == "channel: x\nlocations: {}\n"


COMMANDS = [
    (" --channel x.yaml 2> x.log &", ["--channel", "x.yaml"]),
    (" state --channel x.yaml   what it does", ["state", "--channel", "x.yaml"]),
    (" send --file F … # and more", ["send", "--file", "F"]),
    (" refresh --slice 'a.id%8' > out 2>&1", ["refresh", "--slice", "a.id%8"]),
]


@pytest.mark.parametrize(("text", "words"), COMMANDS)
def test_words_of_commands(text, words):
    assert pages.words_of(text) == words


LINKS = [
    ("../../ops/alerts.yml", "operations/monitoring.md", "../ops/alerts.yml"),
    ("../../ops/alerts.yml", "howto/x.md", "../ops/alerts.yml"),
    ("../speed.md#a", "contributing/speed.md", "../speed.md#a"),
    ("docs/speed.md", "CONTRIBUTING.md", "speed.md"),
    ("docs/a/b.md#c", "CHANGELOG.md", "a/b.md#c"),
    ("#here", "howto/x.md", "#here"),
]


@pytest.mark.parametrize(("link", "page", "expected"), LINKS)
def test_links_in_the_site(link, page, expected):
    assert site_hooks.within_the_site(link, page) == expected
