"""The channel file that `run` writes for itself, and how another `run` would change it."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from integrator import durable
from integrator.cli.direct import Direct
from integrator.cli.first_channel import word
from integrator.errors import ConfigurationError

_MEANING = (
    (("Kafka_Brokers",), "messages go to other brokers, which do not have what was sent before"),
    (("Kafka_Default_Topic",), "messages go to other topics; those that were sent stay where they are"),
    (
        ("MessageKeySerializer",),
        "messages have other keys: changes of a row continue in another partition, and compaction keeps both keys",
    ),
    (
        ("FileFormat", "Kafka_Schema_Registry", "Kafka_Schema_Registry_Format", "Missing_Values", "missing"),
        "messages are in another format in the same topics, and consumers need to read both",
    ),
    (
        ("text_columns",),
        "a column is text from now on; where it belongs to a key, so is the message's key, and that of before stays",
    ),
    (("address", "path"), "changes come from another place: positions of the old one mean nothing there"),
    (
        ("tables", "exclude"),
        "the rows of tables that are new are sent; topics of those that are left out stay as they are",
    ),
)
"""By the words of a line that differs: what that means for messages that were sent."""
_CHOICES = (
    "to continue with these options, add --change; to continue as before: integrator --channel {}; to send all anew: "
    "--state DIR"
)
_OTHERWISE = "it applies from the next cycle on; messages that were sent stay as they are"


def written(direct: Direct, to: Path, *, change: bool = False) -> str:
    """Write the channel; return a note of what differs from the file before.

    Raises ConfigurationError where that has sent messages, with each line that differs and what it means for these;
    not where `change` is True.
    """
    before = to.read_text(encoding="utf-8") if to.exists() else direct.text
    is_new = before == direct.text
    if not is_new and not change and has_sent(to.parent / "state" / direct.name):
        changed = _changed(before, direct.text)
        lines = [f"{to}: this command differs from the one that has sent messages:", *(f"  {one}" for one in changed)]
        lines += [*dict.fromkeys(_meaning(line) for line in changed), _CHOICES.format(to)]
        raise ConfigurationError("\n".join(lines))
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(direct.text, encoding="utf-8")
    return "" if is_new else f"{to}: the channel differs from before: {'; '.join(_changed(before, direct.text))}"


def refuse_other(direct: Direct, to: Path) -> None:
    """Raise ConfigurationError where the file has something else already, which somebody may have edited."""
    if not to.absolute().parent.is_dir():
        raise ConfigurationError(f"{to}: there is no directory {to.absolute().parent}: make it, or name another file")
    if to.exists() and to.read_text(encoding="utf-8") != direct.text:
        raise ConfigurationError(
            f"{to}: is there already, with another channel or other options; run that one (integrator --channel {to}), "
            "or remove it"
        )


def has_sent(state: Path) -> bool:
    """Return whether a channel has synced a cycle."""
    synced = state / "synced"
    return synced.is_dir() and any(synced.iterdir())


def _changed(before: str, after: str) -> list[str]:
    """Return the lines that differ, with a sign before each."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    found = [(one[0], one[1:].strip()) for one in lines if one[0] in "+-" and one[:3] not in ("+++", "---")]
    return [f"{sign} {line}" for sign, line in found if line and not line.startswith("#")]


def _meaning(line: str) -> str:
    """Return what a line that differs means for what was sent."""
    return next((text for words, text in _MEANING if any(re.search(rf"\b{one}\b", line) for one in words)), _OTHERWISE)


def with_state(direct: Direct, state: Path, to: Path) -> Direct:
    """Return the channel for a file of its own, `to`, with the directory of the command's state: it continues there."""
    place = os.path.relpath(state.absolute() / "state", to.absolute().parent)
    line = f"state: {word(place)}\n"
    text = re.sub(r"^state: .*\n", lambda _: line, direct.text, count=1, flags=re.MULTILINE)
    if text == direct.text:
        why = "# Progress: the directory of the command run, so that this channel continues where it was.\n"
        head = f"channel: {direct.name}\n"
        text = text.replace(head, f"{head}{why}{line}", 1)
    return replace(direct, text=text)


def password_file(channel: Path) -> Path:
    """Return the file beside a channel that has the password of its database's address."""
    return channel.with_suffix(".password")


def write_password(password: str, channel: Path) -> None:
    """Write a password as addresses have it, with odd letters as %40, for our user alone."""
    durable.replace(password_file(channel), f"{quote(password, safe='')}\n".encode())
