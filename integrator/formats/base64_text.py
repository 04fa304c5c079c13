"""Base64 (RFC 4648 section 4) of a whole column at once, and the big-endian bytes of decimals for it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from integrator.arrays import flat, from_flat

_ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
_PAD = ord("=")


def base64(values: pa.Array) -> pa.Array:
    """Return binary values as base64 text; null stays null."""
    data, offsets = flat(values)
    return encode(data, offsets, values)


def encode(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], like: pa.Array) -> pa.Array:
    """Return the base64 of each run of `data` between `offsets`; null where `like` is null."""
    length = np.diff(offsets)
    groups = (length + 2) // 3
    ends = np.concatenate([[0], np.cumsum(groups)])
    padded = np.zeros(int(ends[-1]) * 3, np.uint8)
    shift = np.repeat(ends[:-1] * 3 - offsets[:-1], length)
    padded[np.arange(len(data)) + shift] = data
    triples = padded.reshape(-1, 3).astype(np.uint32)
    bits = (triples[:, 0] << 16) | (triples[:, 1] << 8) | triples[:, 2]
    text = np.empty((len(bits), 4), np.uint8)
    for place in range(4):
        text[:, place] = _ALPHABET[(bits >> (18 - 6 * place)) & 63]
    last = ends[1:] - 1
    text[last[(length % 3 > 0)], 3] = _PAD
    text[last[(length % 3 == 1)], 2] = _PAD
    return from_flat(text.ravel(), ends * 4, pa.string(), like)


def twos_complement(values: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return decimals' unscaled values as minimal big-endian two's complement bytes, and their offsets.

    That is java.math.BigInteger.toByteArray, which Connect's Decimal is defined by. Null gives one zero byte.
    """
    width = values.type.byte_width
    raw = np.frombuffer(values.buffers()[1], np.uint8)[values.offset * width : (values.offset + len(values)) * width]
    big = raw.reshape(-1, width)[:, ::-1]
    if values.null_count:
        big = np.where(values.is_null().to_numpy(zero_copy_only=False)[:, None], np.uint8(0), big)
    sign = np.where(big[:, 0] & 0x80, np.uint8(0xFF), np.uint8(0))
    same = big == sign[:, None]
    leading = np.where(same.all(axis=1), width, np.argmin(same, axis=1))
    first = np.minimum(leading, width - 1)
    # one sign byte more where the first kept byte says the other sign
    head = big[np.arange(len(big)), first]
    first = first - (((head ^ sign) & 0x80) > 0)
    keep = np.arange(width)[None, :] >= first[:, None]
    return big[keep], np.concatenate([[0], np.cumsum(width - first)])
