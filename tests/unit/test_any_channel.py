"""Random changes through random channels: what holds whatever a channel says.

However the file is cut into blocks the messages are the same; every row is sent or counted; a consumer that applies them
ends with the rows that the source has, of those that the channel means.
"""

import json
import random

import pytest

from integrator.decode.contract import Reading
from tests.parts import pure

DDL = "create table t(k int primary key, v varchar(9), big text);"
TIMEKEY = (
    "{action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, TimeKey: true, "
    "IntegrateExpression: '{hvr_integ_seq}'}"
)
OP = "{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: '{hvr_op}'}"
CONDITION = "{action: Restrict, CaptureCondition: \"{v} < 'm'\"}"
COALESCE = "{action: Capture, Coalesce: true}"
MORE = [
    "{action: Capture, AugmentIncomplete: ALL}",
    "{action: ColumnProperties, Name: upper, Extra: true, Datatype: text, IntegrateExpression: 'sql: upper(v)'}",
    "{action: ColumnProperties, group: SOURCE, Name: big, TrimDatatype: 9}",
    "{action: TableProperties, TrimWhiteSpace: true, CharacterMapping: 'q>Q'}",
]
MODES = ("ROW", "CHANGE", "TRANSACTION", "THRESHOLD")


def changes(chance):
    """Changes of a table with a few keys; old images are whole, and an update may leave `big` out if it stays."""
    there, made = {}, []

    def row(op, tx, k, image, left_out=()):
        values = {name: value for name, value in zip(("v", "big"), image, strict=True) if name not in left_out}
        made.append({"hvr_op": op, "hvr_tx_seq": f"{tx:x}", "k": k, **values})

    for tx in range(1, chance.randint(3, 25)):
        for _ in range(chance.randint(1, 8)):
            k, image = chance.randint(1, 6), (chance.choice(["a", "f", "q", "z", "q "]), chance.choice(["x", "y" * 12]))
            act = chance.random()
            if k not in there:
                row(1, tx, k, image)
                there[k] = image
            elif act < 0.25:
                row(0, tx, k, there.pop(k))
            elif act < 0.45 and (free := [other for other in range(1, 7) if other not in there]):
                row(3, tx, k, there[k])
                there[free[0]] = (image[0], there.pop(k)[1])
                row(2, tx, free[0], there[free[0]], ("big",) if chance.random() < 0.5 else ())
            else:
                row(4, tx, k, there[k])
                stays = chance.random() < 0.5
                there[k] = (image[0], there[k][1]) if stays else image
                row(2, tx, k, there[k], ("big",) if stays else ())
        if chance.random() < 0.05:
            made.append({"hvr_op": 5, "hvr_tx_seq": f"{tx:x}"})
            there.clear()
    return made, there


def applied(rows):
    """The table of a consumer that applies change rows in the order of their positions."""
    table = {}
    for row in sorted(rows, key=lambda row: row["seq"]):
        if row["op"] == 5:
            table.clear()
        elif row["op"] in (0, 3):
            table.pop(row["k"], None)
        elif row["op"] in (1, 2):
            known = table.get(row["k"], {}) if row["op"] == 2 else {}
            table[row["k"]] = known | {name: row[name] for name in ("v", "big") if name in row}
    return table


def rows_of(made, path):
    sent = pure.messages(made, path)
    return [json.loads(line) for message in sent for line in (message.value or b"").splitlines()]


@pytest.mark.parametrize("seed", range(60))
def test_random_changes_through_a_random_channel(seed, tmp_path, monkeypatch):
    chance = random.Random(seed)
    records, there = changes(chance)
    condition, coalesce = chance.random() < 0.5, chance.random() < 0.4
    actions = [OP, TIMEKEY, *([CONDITION] if condition else []), *([COALESCE] if coalesce else [])]
    actions += chance.sample(MORE, chance.randint(0, len(MORE)))
    recipe = pure.tables(tmp_path, DDL, actions, kafka=f", Kafka_Message_Bundling: {chance.choice(MODES)}")
    path = pure.hvr(tmp_path, *records)
    whole = rows_of(recipe, path)
    _, [note] = pure.fragments(recipe, path)
    assert len(whole) + sum(note.not_sent.values()) == len(records) == note.rows
    table = applied(whole)
    mapped = any("CharacterMapping" in said for said in actions)
    expected = {k: v.rstrip() if mapped else v for k, (v, _) in there.items() if not condition or v < "m"}
    expected = {k: v.replace("q", "Q") if mapped else v for k, v in expected.items()}
    assert {k: row["v"] for k, row in table.items()} == expected
    if coalesce:  # as far as a block goes
        return
    monkeypatch.setattr(Reading, "block_bytes", chance.choice([70, 150, 400]))
    assert rows_of(recipe, path) == whole
