"""Structures of a C library -> flat arrays: keys, values, numbers, times and named fields, without an object each.

The structures are given by their addresses; each is given back to the library, by its own function, when it is copied.
"""

from __future__ import annotations

from typing import NamedTuple

from integrator.engine.arrays import Ints, Mask, Octets, Places
from integrator.engine.compiled import compiled
from integrator.engine.memory import call, copy, int_of_2, int_of_5, load_byte, load_int, load_long, long_of_2

NULL_VALUE, NULL_KEY, TIME_OF_STORE, NO_TIME = 1, 2, 4, 8
"""Bits of `Room.flags`."""
ALL, ENDED, FAILED, FULL = 0, 1, 2, 3
"""How `measure` ends: at the last one; at one that is numbered too high; at an error; where there are bytes enough."""


class Layout(NamedTuple):
    """Where in a structure its members are: the error, the addresses and sizes of value and key, and the number."""

    error: int
    value: int
    size: int
    key: int
    key_size: int
    number: int


class Functions(NamedTuple):
    """Addresses of the library's functions.

    free: gives a structure back. time: of its time and that one's kind (2: of when it was stored, 0: none). fields: of
    its named fields; 0 where they are not wanted. field: of one of these.
    """

    free: int
    time: int
    fields: int
    field: int


class Room(NamedTuple):
    """Arrays that structures are written into.

    *_ends: of the bytes of each, after the first 0. field_ends: how many named fields there are up to each structure.
    name_ends, item_ends: of the bytes of each field's name, and of its value. null_items: which values are null.
    """

    values: Octets
    value_ends: Places
    keys: Octets
    key_ends: Places
    numbers: Ints
    times: Ints
    flags: Octets
    field_ends: Places
    fields: Octets
    name_ends: Places
    item_ends: Places
    null_items: Mask


@compiled
def measure(places: Ints, bounds: tuple[int, int], layout: Layout, most: tuple[int, int], size: Ints) -> int:
    """Write down how many structures may be copied, with how many bytes of values and of keys; return why no more.

    places: addresses. bounds: where to begin, and where they end. most: the number that ends them, and how many bytes
    are enough.
    """
    count, values, keys = 0, 0, 0
    how = ALL
    for at in range(bounds[0], bounds[1]):
        place = places[at]
        if load_int(place + layout.error) != 0:
            how = FAILED
            break
        if load_long(place + layout.number) >= most[0]:
            how = ENDED
            break
        if count and values + keys >= most[1]:
            how = FULL
            break
        count += 1
        values += load_long(place + layout.size)
        keys += load_long(place + layout.key_size)
    size[0], size[1], size[2] = count, values, keys
    return how


@compiled
def gather_fields(place: int, count: Ints, functions: Functions, room: Room, scratch: Ints) -> bool:
    """Copy the named fields of a structure; return False where there is no room for them."""
    at = scratch.ctypes.data
    if int_of_2(functions.fields, place, at) != 0:  # there are none
        return True
    base, field, end = room.fields.ctypes.data, count[3], count[4]
    index = 0
    while int_of_5(functions.field, scratch[0], index, at + 8, at + 16, at + 24) == 0:
        name, item, length, width = scratch[1], scratch[2], scratch[3], 0
        while load_byte(name + width) != 0:
            width += 1
        if field >= len(room.null_items) or end + width + length > len(room.fields):
            return False
        copy(base + end, name, width)
        end += width
        room.name_ends[field] = end
        room.null_items[field] = item == 0
        if item != 0:
            copy(base + end, item, length)
            end += length
        room.item_ends[field] = end
        field += 1
        index += 1
    count[3], count[4] = field, end
    return True


@compiled
def gather(
    places: Ints,
    bounds: tuple[int, int],
    layout: Layout,
    count: Ints,
    functions: Functions,
    room: Room,
    instead: Octets,
    scratch: Ints,
) -> int:
    """Copy structures and free them; a newline is after each value.

    bounds: where to begin, and where to end. count: structures so far, bytes of values and of keys, fields, and their
    bytes. instead: is written for a value that is null. Returns where it ended: before one for whose named fields there
    is no room, or at the end.
    """
    value_base, key_base, kind_at = room.values.ctypes.data, room.keys.ctypes.data, scratch.ctypes.data + 32
    row, value_end, key_end = count[0], count[1], count[2]
    at = bounds[0]
    while at < bounds[1]:
        place = places[at]
        if functions.fields != 0 and not gather_fields(place, count, functions, room, scratch):
            break
        flags = 0
        value, size = load_long(place + layout.value), load_long(place + layout.size)
        if value == 0:
            flags |= NULL_VALUE
            for byte in instead:
                room.values[value_end] = byte
                value_end += 1
        elif size:
            copy(value_base + value_end, value, size)
            value_end += size
        room.values[value_end] = 10
        value_end += 1
        room.value_ends[row + 1] = value_end
        key, size = load_long(place + layout.key), load_long(place + layout.key_size)
        if key == 0:
            flags |= NULL_KEY
        elif size:
            copy(key_base + key_end, key, size)
            key_end += size
        room.key_ends[row + 1] = key_end
        room.numbers[row] = load_long(place + layout.number)
        room.times[row] = long_of_2(functions.time, place, kind_at)
        kind = scratch[4] & 0xFFFFFFFF
        if kind == 2:
            flags |= TIME_OF_STORE
        elif kind == 0:
            flags |= NO_TIME
        room.flags[row] = flags
        room.field_ends[row + 1] = count[3]
        row += 1
        call(functions.free, place)
        at += 1
    count[0], count[1], count[2] = row, value_end, key_end
    return at
