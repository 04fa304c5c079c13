"""What a channel brings in from outside as `${NAME}`, and the mask over it. I7: secrets never leave the process.

A value is secret when it comes from a file, when its name says so (password, secret, token …), or when it is the value
of a librdkafka property whose name says so.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

REFERENCE = re.compile(r"\$\{(file:)?([^}]+)\}")
SENSITIVE = re.compile(r"(?i)(passw|passphrase|secret|\.pem$|jaas|token|credential)")
HIDDEN = "********"


class Secrets:
    """The values that came from the environment or from files, which no text that leaves the process may show."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._resolved: set[str] = set()

    def resolve(self, text: str) -> str:
        """Replace `${NAME}` by the environment's NAME and `${file:PATH}` by the text of that file.

        Raises LookupError, saying what is missing, if there is none.
        """
        absent = []
        for found in REFERENCE.finditer(text):
            try:
                self._value(found)
            except LookupError as error:
                absent.append(str(error))
        if absent:
            raise LookupError("; ".join(absent))
        return REFERENCE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        from_file, name = found.groups()
        if from_file:
            try:
                value = Path(name).read_text(encoding="utf-8").rstrip("\n")
            except OSError as error:
                raise LookupError(f"the file of ${{file:{name}}} cannot be read: {error.strerror}") from error
        else:
            if name not in os.environ:
                raise LookupError(f"the environment has no {name}, which ${{{name}}} asks for")
            value = os.environ[name]
        self._resolved.add(value)
        if from_file or SENSITIVE.search(name):
            self.add(value)
        return value

    def add(self, value: str) -> None:
        """Hide `value` from now on."""
        if value:
            self._values |= {value, repr(value)[1:-1], json.dumps(value)[1:-1]}

    def brings(self, text: str, character: str) -> bool:
        """Return whether a value that was put into `text` has `character` in it."""
        return any(character in value and value in text for value in self._resolved)

    def mask(self, text: str) -> str:
        """Return `text` with stars in the place of each secret."""
        for value in sorted(self._values, key=len, reverse=True):
            text = text.replace(value, HIDDEN)
        return text


def mask_properties(properties: dict[str, str]) -> dict[str, str]:
    """Return librdkafka properties with stars for the values of those whose names say that they are secret."""
    return {name: HIDDEN if SENSITIVE.search(name) else value for name, value in properties.items()}
