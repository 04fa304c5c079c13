"""Records that users of change data capture report as read wrongly, or refused: what becomes of them.

Each file in tests/data/reported has the definitions of tables (`tables`, in the SQL of `sql_dialect`), the source
location (`source`), and the lines of a change file. Either the rows of `rows` must arrive, of which only the columns
that it names are compared, or the error must have the words of `refused`. `counted` is what is counted and not sent.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from integrator.errors import DataError
from integrator.plan import build
from tests.conftest import ROOT
from tests.parts import pure

CASES = sorted((ROOT / "tests" / "data" / "reported").glob("*.yaml"))
_META = {
    "op": '{action: ColumnProperties, Name: op, Datatype: integer, Extra: true, IntegrateExpression: "{hvr_op}"}',
    "seq": "{action: ColumnProperties, Name: seq, Datatype: varchar, Length: 45, Extra: true, TimeKey: true, "
    'IntegrateExpression: "{hvr_integ_seq}"}',
}


def _recipe(case: dict[str, Any], directory: Path) -> Any:
    definitions = directory / f"tables.{case.get('notation', 'sql')}"
    definitions.write_text(case["tables"], encoding="utf-8")
    entry = {"file": str(definitions), **({"sql_dialect": case["sql_dialect"]} if "sql_dialect" in case else {})}
    channel = {
        "channel": "reported",
        "locations": {
            "src": {"class": "files", "path": f"{directory}/in", **case["source"]},
            "kaf": {"class": "kafka", "Kafka_Brokers": ["localhost"]},
        },
        "tables": [entry],
        "actions": [yaml.safe_load(action) for action in (pure.PLAIN, *_META.values(), *case.get("actions", ()))],
    }
    path = directory / "channel.yaml"
    path.write_text(yaml.safe_dump(channel), encoding="utf-8")
    return build(str(path), case.get("timezone", "UTC"), None).recipe


def _changes(case: dict[str, Any], directory: Path) -> Path:
    path = directory / case.get("file", "1.jsonl")
    path.write_text(case["lines"], encoding="utf-8")
    return path


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_reported_record_becomes_what_it_means_or_is_refused(path, tmp_path):
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    recipe, changes = _recipe(case, tmp_path), _changes(case, tmp_path)
    if "refused" in case:
        with pytest.raises(DataError) as raised:
            pure.fragments(recipe, changes)
        assert [word for word in case["refused"] if word not in str(raised.value)] == [], str(raised.value)
        return
    got = pure.read(recipe, changes)
    assert [{name: row.get(name, "missing") for name in of} for of, row in zip(case["rows"], got, strict=True)] == case[
        "rows"
    ]
    positions = [row["seq"] for row in got]
    assert positions == sorted(set(positions))
    if "counted" in case:
        _, [summary] = pure.fragments(recipe, changes)
        assert summary.not_sent == case["counted"]
