"""What every format writes of every case, byte for byte: python -m tests.wire.golden writes golden.json anew.

A change of it is a change of what consumers get, and of what a re-sent message is (I2): look at each line before it is kept.
"""

from __future__ import annotations

import json
from pathlib import Path

from integrator.contracts.message_format import Options
from integrator.formats import FORMATS
from integrator.formats.records import UnsupportedValue
from integrator.schema import Column
from tests.cases import CASES, array

FILE = Path(__file__).parent / "golden.json"
OPTIONS = {"SCHEMA_PAYLOAD": Options(), "PAYLOAD": Options()}
PLAIN = Options(decimals="NUMERIC", json_mode="ROW_FRAGMENTS")


def written() -> dict[str, dict[str, list[str]]]:
    """By format and case: text as it is, bytes in hex; `refused` where the format has no word for a value."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, said in FORMATS.items():
        if name == "PARQUET":  # its files name the library's version
            continue
        found[name] = {}
        for case, kind, values, *_ in CASES:
            if name in ("TEXT", "BYTES") and said.refusal(kind, PLAIN):
                continue
            encode = said.encoder([Column("c", kind)], OPTIONS.get(name, PLAIN))
            found[name][case] = [_one(encode, array(kind, [value])) for value in values]
    return found


def _one(encode: object, value: object) -> str:
    try:
        row = encode({"c": value}, {})[0].as_py()  # type: ignore[operator]
    except UnsupportedValue:
        return "refused"
    return "no value" if row is None else row if isinstance(row, str) else row.hex()


if __name__ == "__main__":
    FILE.write_text(json.dumps(written(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
