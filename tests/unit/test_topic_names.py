"""Topics in the letters of Airbyte's name transformer, applied to the whole text, names in it among it."""

import pytest

from integrator.names.identifiers import standard_identifier
from integrator.plan import build
from tests.parts import pure

pytestmark = pytest.mark.fast

NAMES = [
    ("My Orders!", "My_Orders_"),
    ("Bücher", "Bucher"),
    ("airbyte_syncs/n1/s1", "airbyte_syncs_n1_s1"),
    ("a.b-c", "a_b_c"),
    ("Café  menü", "Cafe_menu"),
    ("ﬁx", "fix"),
    ("日本", "__"),
    ("a \t\n b", "a_b"),
    ("a\u00a0b", "a_b"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "name"), NAMES)
def test_the_name_transformer(text, name):
    assert standard_identifier(text) == name


def topics(directory, ddl, pattern):
    kafka = f", Kafka_Default_Topic: '{pattern}', Topic_Names: AIRBYTE"
    made = pure.recipe(directory, ddl, kafka=kafka)
    return {table.table.base_name: table.topic for table in made.tables}


def test_names_in_a_topic_are_transformed_with_it(tmp_path):
    ddl = 'create table "büro 1"."My Orders!"(id int primary key); create table "Bücher"(id int primary key);'
    assert topics(tmp_path, ddl, "{hvr_schema}.{hvr_tbl_base_name}/x") == {
        "My Orders!": "buro_1_My_Orders__x",
        "Bücher": "_Bucher_x",
    }


def test_tables_that_share_a_topic_are_remarked(tmp_path):
    ddl = 'create table s."a b"(id int primary key); create table s."a-b"(id int primary key);'
    topics(tmp_path, ddl, "{hvr_tbl_base_name}")
    notes = [note for note in build(str(tmp_path / "channel.yaml"), "UTC").notes if "transformer" in note]
    assert ["in one topic, a_b," in note for note in notes] == [True]
    topics(tmp_path, ddl, "{hvr_tbl_name}")
