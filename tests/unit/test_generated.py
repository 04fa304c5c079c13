"""The pages made from the model are current, and the sample channels are good."""

import json

import jsonschema
import pytest
import yaml

from integrator import plan
from tests.conftest import ROOT
from tests.generate import PAGES, SCHEMA


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_generated_pages_are_current(path):
    assert path.read_text(encoding="utf-8") == PAGES[path](), "run make docs"


@pytest.mark.parametrize("path", sorted((ROOT / "channels").glob("*.yaml")), ids=lambda path: path.name)
def test_sample_channels_are_good(path, monkeypatch):
    monkeypatch.setenv("KAFKA_BROKERS", "localhost:9092")
    monkeypatch.setenv("KAFKA_USER", "u")
    monkeypatch.setenv("KAFKA_PASSWORD", "p")
    assert plan.make(str(path), "UTC").recipe.tables
    jsonschema.validate(yaml.safe_load(path.read_text()), json.loads(SCHEMA.read_text()))
