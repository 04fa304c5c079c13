"""Character sets of columns: how their bytes become UTF-8, as the server itself converts them.

https://mariadb.com/kb/en/supported-character-sets-and-collations/.
"""

from __future__ import annotations

import numpy as np

from integrator.engine.arrays import Octets
from integrator.sources.binlog.server import Session

BINARY = "binary"
_UNICODE = frozenset(("utf8", "utf8mb3", "utf8mb4", "ascii"))
_CODECS = {
    "gbk": "gbk", "gb2312": "gb2312", "gb18030": "gb18030", "big5": "big5", "cp932": "cp932", "sjis": "cp932",
    "ujis": "euc_jp", "eucjpms": "euc_jp", "euckr": "euc_kr",
}  # fmt: skip
"""By which statements of clients are read, for the names in them; text of columns is not."""
_ENTRY = 4
"""Bytes of a map for each byte of text: a length, and at most three of UTF-8."""


class Charsets:
    """The character sets of a server: those in UTF-8, and those that have a byte for each character, are read.

    lower_names: whether names of tables are in lower case, however statements write them.
    """

    def __init__(self, session: Session) -> None:
        """Ask a server which it has. Raises SourceAway, EnvironmentFault."""
        self._session, self.product = session, session.product
        rows = session.rows("select character_set_name, maxlen from information_schema.character_sets")
        self._mapped = {str(name) for name, most in rows if most == 1} - _UNICODE - {BINARY}
        self._names = {int(number): str(name) for number, name in session.rows(_collations(session))}
        [(lower,)] = session.rows("select @@lower_case_table_names")
        self.lower_names = int(lower) == 1
        self._maps: dict[str, int] = {}
        self.maps: Octets = np.zeros(0, np.uint8)

    def is_read(self, name: str) -> bool:
        """Return whether text of a character set is read from the log."""
        return name in _UNICODE or name in self._mapped

    def of_collation(self, number: int) -> str:
        """Return the name of the character set that a collation is of; its number where the server has none such."""
        return self._names.get(number, f"collation {number}")

    def map_of(self, name: str) -> int | None:
        """Return the number of a character set's map in `maps`; None for what is UTF-8. Raises as the session."""
        if name in _UNICODE:
            return None
        if name not in self._maps:
            columns = ", ".join(f"hex(convert(_{name} 0x{byte:02X} using utf8mb4))" for byte in range(256))
            [row] = self._session.rows(f"select {columns}")
            made = np.zeros((256, _ENTRY), np.uint8)
            for entry, text in zip(made, row, strict=True):
                octets = bytes.fromhex(text or "3F")[: _ENTRY - 1]
                entry[0], entry[1 : 1 + len(octets)] = len(octets), list(octets)
            self._maps[name] = len(self._maps)
            self.maps = np.concatenate([self.maps, made.reshape(-1)])
        return self._maps[name]

    def decoded(self, name: str, octets: bytes) -> str:
        """Return text of a character set. Raises as the session."""
        own = None if name == BINARY or not self.is_read(name) else self.map_of(name)
        if own is None:
            return octets.decode(_CODECS.get(name, "utf-8"), errors="replace")
        rows = self.maps.reshape(-1, 256, _ENTRY)[own]
        return b"".join(bytes(rows[byte, 1 : 1 + rows[byte, 0]]) for byte in octets).decode()


def _collations(session: Session) -> str:
    """Return the query of collations: newer servers have several for one name, of which only one table has numbers."""
    [(many,)] = session.rows(
        "select count(*) from information_schema.columns where table_schema = 'information_schema' "
        "and table_name = 'COLLATION_CHARACTER_SET_APPLICABILITY' and column_name = 'ID'"
    )
    table = "collation_character_set_applicability" if many else "collations"
    return f"select id, character_set_name from information_schema.{table} where id is not null"  # noqa: S608
