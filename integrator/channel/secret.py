"""What a channel brings in from outside as `${NAME}`, and the mask over it. I7: secrets never leave the process.

A value is secret when it comes from a file, when its name says so (password, secret, token …), when it is the value of
a librdkafka property whose name says so, or when a URL has it as a password or as such a parameter.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from integrator.channel import paths

REFERENCE = re.compile(r"\$\{(file:)?([^}]+)\}")
SENSITIVE = re.compile(r"(?i)(passw|passphrase|secret|\.pem$|jaas|oauthbearer\.(config|extensions)$|token|credential)")
"""Names of properties and variables with secret values; librdkafka's are in its CONFIGURATION.md."""
HIDDEN = "********"
TOO_SHORT = "a secret of one character cannot be hidden, because nearly every text has it; use a longer one"
_USER_INFO = re.compile(r"://[^\s:/?#@]*:([^\s/?#]*)@|:thin:[^\s/@]*/([^\s@]+)@")
"""A URL's password (RFC 3986, section 3.2.1), and that of Oracle's JDBC driver, jdbc:oracle:thin:user/password@host."""
_PARAMETER = re.compile(r"[?&;]([^?&;=\s]+)=([^&;\s]+)")
_SIGNS = re.compile(r"(?i)^(sig|signature|.*key)$")
"""Parameters of a URL with which whoever has it may come in: a shared access signature, an API key."""
_MOST_BYTES = 1024 * 1024
_LEAST_PART, _MOST_PART = 6, 2000
"""Characters of a secret at whose beginning a message may be cut, and of a line of one that is hidden by itself."""
_CUT = "… ("
"""What follows what errors.shortened and errors.shown cut."""


class Secrets:
    """The values that came from the environment or from files, which no text that leaves the process may show."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        """What is written in the place of each, in `plan`."""
        self._resolved: set[str] = set()

    def resolve(self, text: str, directory: str = "") -> str:
        """Replace `${NAME}` by the environment's NAME and `${file:PATH}` by the text of that file, beside `directory`.

        Raises LookupError, saying what is missing, if there is none.
        """
        absent = []
        end = text.rfind("}") + 1  # after it nothing is a reference, and searching for its end from each takes long
        for found in REFERENCE.finditer(text, 0, end):
            try:
                self._value(found, directory)
            except LookupError as error:
                absent.append(str(error))
        if absent:
            raise LookupError("; ".join(absent))
        return REFERENCE.sub(lambda found: self._value(found, directory), text[:end]) + text[end:]

    def _value(self, found: re.Match[str], directory: str) -> str:
        from_file, name = found.groups()
        if from_file:
            value = _text_of(name, paths.resolved(name, directory)).rstrip("\n")
        else:
            if name not in os.environ:
                raise LookupError(f"the environment has no {name}, which ${{{name}}} asks for")
            value = os.environ[name]
        self._resolved.add(value)
        if from_file or SENSITIVE.search(name):
            if is_too_short(value):
                raise LookupError(f"{found[0]}: {TOO_SHORT}")
            self.add(value, found[0])
        return value

    def add(self, value: str, reference: str = HIDDEN) -> None:
        """Hide `value` from now on, if it is one that can be hidden. reference: what the author wrote for it.

        A reference is none: that is what a secret is written as, and what there was not stays so.
        """
        if REFERENCE.fullmatch(value) or is_too_short(value):
            return
        lines = [line for line in value.splitlines() if len(line) > 2 * _LEAST_PART and not line.startswith("-----")]
        for one in filter(None, [value, *lines]):
            for written in (one, repr(one)[1:-1], json.dumps(one)[1:-1]):
                self._values.setdefault(written, reference)

    def add_of_url(self, text: str) -> None:
        """Hide the passwords in a text, where it is a URL or has some."""
        for value in passwords_of(text):
            self.add(value)
            self.add(unquote(value))

    def brings(self, text: str, character: str) -> bool:
        """Return whether a value that was put into `text` has `character` in it."""
        return any(character in value and value in text for value in self._resolved)

    def mask(self, text: str) -> str:
        """Return `text` with stars in the place of each secret, and of the beginning of one that is cut."""
        text = self._replaced(text, dict.fromkeys(self._values, HIDDEN))
        at = text.find(_CUT)
        while at >= 0:
            size = max((_beginning(text[:at], value) for value in self._values), default=0)
            text = text[: at - size] + (HIDDEN if size else "") + text[at:]
            at = text.find(_CUT, at - size + len(HIDDEN if size else "") + 1)
        return text

    def referenced(self, text: str) -> str:
        """Return `text` with what the author wrote in the place of each secret: `${file:…}`; stars for clear text."""
        return self._replaced(text, self._values)

    def _replaced(self, text: str, values: dict[str, str]) -> str:
        for value in sorted(values, key=len, reverse=True):
            text = text.replace(value, values[value])
        return text


def is_too_short(value: str) -> bool:
    """Return whether a secret cannot be hidden: stars in its place would be all over each text."""
    return len(value) == 1


def passwords_of(url: str) -> Iterator[str]:
    """Yield what is secret in a URL: the password before its host, and parameters that are named like secrets."""
    for found in _USER_INFO.finditer(url):
        yield from filter(None, found.groups())
    if "://" in url or url.startswith("jdbc:"):
        for name, value in _PARAMETER.findall(url):
            if SENSITIVE.search(name) or _SIGNS.search(name):
                yield value


def _beginning(text: str, value: str) -> int:
    """Return how many characters of the beginning of `value`, but not all, `text` ends with; 0 for a few."""
    for size in range(min(len(value) - 1, len(text), _MOST_PART), _LEAST_PART - 1, -1):
        if text.endswith(value[:size]):
            return size
    return 0


def _text_of(name: str, place: str) -> str:
    """Return the text of a file. Raises LookupError where it is none, or is longer than a secret is."""
    shown = f"the file of ${{file:{name}}}" + (f" ({paths.as_known(place)})" if place != name else "")
    try:
        if Path(place).exists() and not Path(place).is_file():
            raise LookupError(f"{shown} cannot be read: it is no file, but a directory, a device or a pipe")
        with Path(place).open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise LookupError(f"{shown} has more than {_MOST_BYTES} bytes; name the file of one secret or certificate")
        return data.decode()
    except OSError as error:
        why = paths.elsewhere(name, place) or error.strerror
        raise LookupError(f"{shown} cannot be read: {why}") from error
    except UnicodeDecodeError:
        raise LookupError(f"{shown} is no text in UTF-8") from None


def mask_properties(properties: dict[str, str]) -> dict[str, str]:
    """Return librdkafka properties with stars for the values of those whose names say that they are secret."""
    return {name: HIDDEN if SENSITIVE.search(name) else value for name, value in properties.items()}
