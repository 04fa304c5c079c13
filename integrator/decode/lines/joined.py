"""Small files of JSON lines, joined: read as if they were one, so that all of them cost one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from integrator.decode.lines.files import MARK, begins_with_record, cut_off, open_file
from integrator.engine.arrays import Ints

_MOST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class JoinedLines:
    """The lines of several files, one after another.

    paths: the files that have lines, in order. data: their lines. first_lines: the number of the first line of each.
    """

    paths: tuple[str, ...]
    data: pa.Buffer
    first_lines: Ints

    def file_of(self, line: Ints) -> Ints:
        """Return of each line the place of its file among the paths."""
        return np.searchsorted(self.first_lines, line, side="right")


def join_lines(paths: Sequence[str]) -> JoinedLines | None:
    """Return the lines of files, of which some may have none.

    None where one begins with something else than a record, all are empty, or they are large when unpacked. Raises
    EnvironmentFault for a file that cannot be read.
    """
    names, texts, first_lines, line, size = list[str](), list[bytes](), list[int](), 1, 0
    for path in paths:
        with open_file(path) as stream:
            try:
                text = stream.read().removeprefix(MARK)
            except (OSError, pa.ArrowInvalid) as error:
                raise cut_off(path, error) from error
        size += len(text)
        if not text.strip():
            continue
        if not begins_with_record(text) or size > _MOST_BYTES:
            return None
        if not text.endswith(b"\n"):
            text += b"\n"
        names.append(path)
        texts.append(text)
        first_lines.append(line)
        line += text.count(b"\n")
    return JoinedLines(tuple(names), pa.py_buffer(b"".join(texts)), np.array(first_lines)) if names else None
