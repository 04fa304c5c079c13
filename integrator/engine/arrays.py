"""The arrays that loops take, one name for each width of items."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Octets = npt.NDArray[np.uint8]
"""Bytes."""
Words = npt.NDArray[np.uint64]
"""Eight bytes each: of a text, see `words`; hashes; numbers without sign."""
Ints = npt.NDArray[np.int64]
"""Numbers, and places of which there may be more than 32 bits hold."""
Places = npt.NDArray[np.int32]
"""Numbers of 32 bits: places in a text, of nodes, names and values, as Arrow's offsets have; days."""
Mask = npt.NDArray[np.bool_]
"""Which ones."""


def words(data: Octets) -> Words:
    """Return the eight bytes from each place on as a number, least significant first: most text is one or two of them.

    In compiled code no index is checked: who reads or writes a word past the last one must own the bytes.
    """
    return np.ndarray((max(len(data) - 7, 0),), "<u8", data, 0, (1,))
