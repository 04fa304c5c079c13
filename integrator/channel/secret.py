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
_MOST_BYTES = 1024 * 1024


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
            value = _text_of(name).rstrip("\n")
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


def _text_of(name: str) -> str:
    """Return the text of a file. Raises LookupError where it is none, or is longer than a secret is."""
    shown = f"the file of ${{file:{name}}}"
    try:
        if Path(name).exists() and not Path(name).is_file():
            raise LookupError(f"{shown} cannot be read: it is no file, but a directory, a device or a pipe")
        with Path(name).open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise LookupError(f"{shown} has more than {_MOST_BYTES} bytes; name the file of one secret or certificate")
        return data.decode()
    except OSError as error:
        raise LookupError(f"{shown} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise LookupError(f"{shown} is no text in UTF-8") from None


def mask_properties(properties: dict[str, str]) -> dict[str, str]:
    """Return librdkafka properties with stars for the values of those whose names say that they are secret."""
    return {name: HIDDEN if SENSITIVE.search(name) else value for name, value in properties.items()}
