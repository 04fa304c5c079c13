"""What a broken channel is: a mistake in a good channel, the lines that `check` prints of it, and a remedy, all as text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CHANNEL = "channel.yaml"
GOOD = {
    CHANNEL: """\
channel: shop
locations:
  src:
    class: files
    path: in
    dialect: wal2json
  kaf:
    class: kafka
    Kafka_Brokers: [localhost:9092]
    Kafka_Default_Topic: "shop.{hvr_tbl_name}"
    Create_Topics: {Partitions: 4, Replication_Factor: 3}
tables: [shop.sql]
table_groups:
  BIG: [orders, items]
actions:
  - action: ColumnProperties
    Name: op_val
    Extra: true
    Datatype: integer
    IntegrateExpression: "{hvr_op}"
  - action: ColumnProperties
    Name: integ_seq
    Extra: true
    TimeKey: true
    Datatype: varchar
    Length: 45
    IntegrateExpression: "{hvr_integ_seq}"
  - action: Integrate
    group: KAFKA
    CycleByteLimit: 10000000
state: state
""",
    "shop.sql": """\
create table customers(id int primary key, name varchar(40), email text, born date, photo bytea);
create table orders(id int primary key, customer int not null, total numeric(9,2), placed timestamp);
create table items(order_id int, line_no int, sku text, qty int, primary key(order_id, line_no));
create table products(sku varchar(20) primary key, price numeric(9,2), weight real);
create table payments(id int primary key, paid boolean, amount numeric(9,2));
create table audit(id int primary key, happened timestamptz, what text);
""",
    "in/changes.jsonl": "",
}
"""A channel without problems, with its tables and a file of changes, in a directory of its own."""

Edit = tuple[str, ...]
"""(OLD, NEW) in the channel, or (FILE, OLD, NEW): OLD stands once in the file; where it is empty, NEW is a new file."""


@dataclass(frozen=True)
class Broken:
    """What somebody wrote, what is printed of it, and what mends it.

    says: all problems, in order, `LINE: PATH: TEXT` or `FILE:LINE: …`, with … for any text. arguments: of `check`.
    own: words of the remedy that are its author's choice; all others are in what is printed.
    """

    name: str
    mistake: tuple[Edit, ...]
    says: tuple[str, ...]
    remedy: tuple[Edit, ...]
    arguments: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    @property
    def words(self) -> set[str]:
        """Return the words that the remedy brings into the channel, but for those that only its author can know."""
        edits = [edit if len(edit) == 3 else (CHANNEL, *edit) for edit in self.remedy]
        return {word for _, old, new in edits if old for word in set(_WORD.findall(new)) - set(_WORD.findall(old))} - {
            *self.own
        }


_WORD = re.compile(r"\w{3,}|\d{2,}")


def broken(
    name: str,
    mistake: Edit | list[Edit],
    says: str | list[str],
    remedy: Edit | list[Edit],
    *arguments: str,
    own: str = "",
) -> Broken:
    """Return a broken channel; one edit or line may stand for a list of them. own: with blanks between."""
    edits = [tuple(one) if isinstance(one, list) else (one,) for one in (mistake, remedy)]
    lines = tuple([says] if isinstance(says, str) else says)
    return Broken(name, edits[0], lines, edits[1], arguments, tuple(own.split()))


def write(directory: Path) -> None:
    """Write the good channel into a directory."""
    for name, text in GOOD.items():
        apply(directory, (name, "", text))


def apply(directory: Path, edit: Edit) -> None:
    """Apply an edit to a file of a directory."""
    name, old, new = edit if len(edit) == 3 else (CHANNEL, *edit)
    path = directory / name
    if not old:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(new, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def matches(pattern: str, line: str) -> bool:
    """Return whether a printed line is what a case expects: the file is the channel where none is named."""
    parts = (pattern if not pattern[:1].isdigit() else f"{CHANNEL}:{pattern}").split("…")
    at = 0
    for number, part in enumerate(parts):
        found = line.find(part, at)
        if found < 0 or (number == 0 and found > 0):
            return False
        at = found + len(part)
    return True
