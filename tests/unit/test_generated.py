"""The pages made from the model are current, and the sample channels are good."""

import json

import jsonschema
import pytest
import yaml

from integrator import plan
from integrator.channel.actions import ACTIONS
from tests import package_map
from tests.conftest import ROOT
from tests.generate import PAGES, SCHEMA
from tests.parts import pure

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_generated_pages_are_current(path):
    assert path.read_text(encoding="utf-8") == PAGES[path](), "run make docs"


def test_the_map_has_the_packages_in_the_order_of_their_layers():
    assert [*package_map.sentences()] == [name for layer in package_map.layers() for name in layer]


DDL = """
create table customers(id int primary key, email text, address text, country text);
create table orders(order_id int, line_no int, qty int, primary key(order_id, line_no));
create table products(id int primary key); create table audit(id int primary key, what text);
"""


@pytest.mark.parametrize("name", ACTIONS)
def test_the_examples_of_the_actions_pages_are_good(name, tmp_path):
    actions = "".join(f"  {line}\n" for line in ACTIONS[name].EXAMPLE.splitlines())
    assert pure.recipe(tmp_path, DDL, actions).tables


PARAMETERS = [
    (name, parameter, field.json_schema_extra["example"])
    for name, kind in ACTIONS.items()
    for parameter, field in kind.model_fields.items()
    if parameter not in ("action", "group", "table")
]
BESIDE = {"ColumnProperties": {"Name": "x"}, "Environment": {"Name": "HVR_KAFKA_PROPERTY", "Value": "a=b"}}


@pytest.mark.parametrize(("action", "parameter", "example"), PARAMETERS)
def test_every_parameter_has_an_example_that_is_accepted(action, parameter, example):
    written = yaml.safe_load(f"{parameter}: {example}")
    beside = {} if parameter == "DatatypeMatch" else BESIDE.get(action, {})
    made = ACTIONS[action].model_validate({"action": action, **beside, **written})
    assert getattr(made, parameter) == written[parameter]
    assert ACTIONS[action].model_fields[parameter].description


@pytest.mark.parametrize("path", sorted((ROOT / "channels").glob("*.yaml")), ids=lambda path: path.name)
def test_sample_channels_are_good(path, monkeypatch):
    monkeypatch.setenv("KAFKA_BROKERS", "localhost:9092")
    monkeypatch.setenv("KAFKA_USER", "u")
    monkeypatch.setenv("KAFKA_PASSWORD", "a password")
    assert plan.build(str(path), "UTC").recipe.tables
    jsonschema.validate(yaml.safe_load(path.read_text()), json.loads(SCHEMA.read_text()))
