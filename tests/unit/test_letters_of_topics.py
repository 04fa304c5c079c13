"""Dead letters of topics are read again as records of the topics, partitions and offsets that they came from."""

import json

import pytest

from integrator import plan as planning
from integrator.contracts.written_schema import WrittenSchema
from integrator.decode.encodings.encoded import Encoding
from integrator.errors import ConfigurationError
from integrator.librdkafka.blocks import Block
from integrator.replay.job import plan_of, write
from integrator.replay.letters import Letter
from integrator.sources.kafka.deleted_keys import line_with_key
from tests.parts import pure

DDL = "create table orders(id int primary key, v int, s text); create table items(id int primary key, v int, s text);"
PLACE = "{hvr_cap_topic}/{hvr_cap_partition}:{hvr_cap_offset}"


@pytest.fixture
def letters(tmp_path):
    """The messages of records that were letters of topics, and where lines are that are rejected again."""
    (tmp_path / "tables.sql").write_text(DDL)

    def read(source, *records, tables="tables: [tables.sql]"):
        path = tmp_path / "channel.yaml"
        path.write_text(
            f"""
channel: pure
locations:
  src: {{class: kafka, Kafka_Brokers: [localhost], {source}}}
  kaf: {{class: kafka, Kafka_Brokers: [localhost], Kafka_Default_Topic: "to.{{hvr_tbl_name}}"}}
{tables}
errors: {{tolerance: all, log.enable: true, log.include.messages: true}}
actions:
  - {pure.PLAIN}
  - {{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: at, Extra: true, Datatype: varchar, IntegrateExpression: "{PLACE}", TimeKey: true}}
"""
        )
        plan = planning.build(str(path), "UTC")
        given = [Letter(f"{n}", "0:1", 7, file, line, "", "", one) for n, (file, line, one) in enumerate(records)]
        files = write(tmp_path / "letters", 0, given, plan.changes.letters)
        of_letters = plan_of(plan)
        made, summaries = pure.fragments(of_letters.recipe, *files, reader=of_letters.changes.reader)
        sent = pure.unpacked(pure.bundled(of_letters.recipe, made.combine_chunks()))
        rejected = [f"{one.path}:{line['line']}: {line['reason']}" for one in summaries for line in one.rejections]
        return [(message.topic, json.loads(message.value)) for message in sent], rejected

    return read


def row(id_, **members):
    return {"id": id_, "op": 1, **members}


def test_a_letter_is_of_the_table_of_its_topic(letters):
    records = [("a.orders/0", 7, b'{"id": 1, "s": "o"}'), ("a.items/2", 3, b'{"id": 1, "s": "i"}')]
    sent, rejected = letters("topics: ['^a[.].*'], dialect: rows", *records)
    assert rejected == []
    assert sent == [
        ("to.orders", row(1, s="o", at="a.orders/0:7")),
        ("to.items", row(1, s="i", at="a.items/2:3")),
    ]


def test_a_letter_of_a_topic_without_a_table_stays_one(letters):
    only = "tables: [{file: tables.sql, only: [orders]}]"
    sent, [rejected] = letters("topics: ['^a[.].*'], dialect: rows", ("a.items/0", 3, b'{"id": 1}'), tables=only)
    assert sent == []
    assert "a.items/0 (replay 1):3: a change of table 'a.items', which the channel does not have" in rejected


def test_what_is_rejected_again_is_another_letter_of_its_topic(letters):
    sent, _ = letters("topics: ['^a[.].*'], dialect: rows", ("a.items/0 (replay 12)", 3, b'{"id": 1}'))
    assert sent == [("to.items", row(1, at="a.items/0:3"))]


def test_a_record_over_several_lines_is_one(letters):
    records = [("a.orders/0", 1, b'{\n "id": 1,\n "v": 2\n}'), ("a.orders/0", 4, b'{\n "id": 3}')]
    sent, rejected = letters("topics: ['^a[.].*'], dialect: rows", *records)
    assert (sent, rejected) == (
        [("to.orders", row(1, v=2, at="a.orders/0:1")), ("to.orders", row(3, at="a.orders/0:4"))], []
    )  # fmt: skip


@pytest.mark.parametrize("record", [b'{"id": 1}\n{"id": 2}', b'{\n"id": 1,', b"[1,\n\n2]"])
def test_a_letter_of_several_lines_that_is_no_document_is_rejected_alone(record, letters):
    """Several records in the place of one, and a record that is still broken: neither keeps others from being sent."""
    records = [("a.orders/0", 1, record), ("a.orders/0", 4, b'{"id": 3}')]
    sent, [rejected] = letters("topics: ['^a[.].*'], dialect: rows", *records)
    assert [row["id"] for _, row in sent] == [3]
    assert "a.orders/0 (replay 1):1: " in rejected


def test_a_letter_of_no_topic_is_refused(letters):
    with pytest.raises(ConfigurationError, match=r"/in/a\.jsonl: is no TOPIC/PARTITION"):
        letters("topics: ['^a[.].*'], dialect: rows", ("/in/a.jsonl", 1, b'{"id": 1}'))


@pytest.mark.parametrize(
    ("letter", "key"),
    [
        (b'{"schema":null,"deleted key":5}', 5),
        (b'{"schema":null,"deleted key":{"id":5}}', 5),
        (b'{"schema": {"type": "int32", "optional": false}, "deleted key": 5}', 5),
        (
            b'{"schema":{"type":"struct","fields":[{"field":"id","type":"int32"}]},"deleted key":{"id":5}}',
            5,
        ),
    ],
)
def test_the_letter_of_a_tombstone_deletes_the_row_of_its_table(letter, key, letters):
    sent, rejected = letters("topics: ['^a[.].*'], dialect: rows", ("a.items/0", 9, letter))
    assert rejected == []
    assert sent == [("to.items", {"id": key, "op": 0, "at": "a.items/0:9"})]


VALUE = "create table note(value text);"


@pytest.mark.parametrize("text", [b"abc", b'{"value": 1}', b"two\nlines", "é".encode()])
def test_a_letter_of_text_is_text(text, letters, tmp_path):
    (tmp_path / "note.sql").write_text(VALUE)
    sent, rejected = letters(
        "topics: [a.note], dialect: rows, encoding: text", ("a.note/0", 2, text), tables="tables: [note.sql]"
    )
    assert rejected == []
    assert sent == [("to.note", {"value": text.decode(), "op": 1, "at": "a.note/0:2"})]


def test_a_value_of_json_that_is_no_object_is_that_of_its_column(letters, tmp_path):
    (tmp_path / "note.sql").write_text("create table note(value int);")
    sent, _ = letters("topics: [a.note], dialect: rows", ("a.note/0", 2, b"7"), tables="tables: [note.sql]")
    assert sent == [("to.note", {"value": 7, "op": 1, "at": "a.note/0:2"})]


def test_a_record_of_a_schema_that_is_not_known_stays_a_letter(letters):
    sent, [rejected] = letters("topics: ['^a[.].*'], dialect: rows", ("a.items/0", 3, b"\0\0\0\0\7rest"))
    assert sent == []
    assert "a.items/0 (replay 1):3: its schema, 7, cannot be read: the registry does not have it" in rejected


def test_letters_of_one_place_are_of_several_files(letters):
    """A topic that was made anew has other records at the same offsets."""
    records = [("a.items/0", 7, b'{"id": 1}'), ("a.items/0", 7, b'{"id": "x"}'), ("a.items/0", 3, b'{"id": 3}')]
    sent, [rejected] = letters("topics: ['^a[.].*'], dialect: rows", *records)
    assert [one["id"] for _, one in sent] == [1, 3]
    assert "a.items/0 (replay 2):7: " in rejected


def test_no_letter_is_given_where_one_is_refused(letters, tmp_path):
    with pytest.raises(ConfigurationError):
        letters("topics: ['^a[.].*'], dialect: rows", ("a.items/0", 1, b"{}"), ("a.jsonl", 1, b"{}"))
    assert [*(tmp_path / "letters").iterdir()] == []


def test_the_letter_of_a_record_without_a_value_has_the_schema_of_its_key():
    """Else a replay could not read it: the schema is what the key's bytes do not have."""
    schema = WrittenSchema("AVRO", '{"type": "record", "name": "k", "fields": [{"name": "id", "type": "int"}]}')
    block = Block.of([(3, None, b"\0\0\0\0\x07\x0a")])
    line = json.loads(line_with_key(block, 0, Encoding({7: schema})))
    assert line["deleted key"] == {"id": 5}
    assert [one["field"] for one in line["schema"]["fields"]] == ["id"]


def test_what_is_replayed_is_planned_as_it_is_though_a_table_is_refused(tmp_path):
    """It is not made anew for the channel's source; what is of a table that is set aside is rejected again."""
    (tmp_path / "tables.sql").write_text(DDL)
    path = tmp_path / "channel.yaml"
    path.write_text(
        f"""
channel: pure
locations:
  src: {{class: postgres, address: "postgresql://nobody@localhost:1/shop"}}
  kaf: {{class: kafka, Kafka_Brokers: [localhost], Kafka_Default_Topic: "to.{{hvr_tbl_name}}"}}
tables: [tables.sql]
errors: {{tolerance: all, tables: set_aside, log.enable: true}}
actions:
  - {pure.PLAIN}
"""
    )
    plan = planning.build(str(path), "UTC")
    assert planning.sets_aside(plan)
    aside = planning.replan(plan, {}, {"items": "its schema is refused"})
    assert [one.name for one in aside.recipe.read.absent] == ["items"]
    found = plan_of(aside)
    assert not planning.sets_aside(found)
    assert not found.aside  # else the next replay would be planned anew, as the channel is at its start
    assert not found.recipe.read.absent
    assert not found.recipe.read.follows_schemas
