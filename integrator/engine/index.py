"""One pass over JSON lines: the grammar is checked, and each value is recorded as a node.

A node is a member of an object or an element of a list, at any depth: where its name and its value are in the text. All
that is read from a line later is found by nodes, without the text between them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Mask, Octets, Places, Words, words
from integrator.engine.compiled import compiled
from integrator.engine.grammar import (
    CLOSE,
    COLON,
    COMMA,
    ESCAPED,
    LIST,
    LIST_END,
    MAX_DEPTH,
    NEWLINE,
    NINE,
    NO_COLON,
    NO_COMMA,
    NO_NAME,
    NO_OBJECT,
    NULL,
    OK,
    ONE,
    OPEN,
    QUOTE,
    TOO_DEEP,
    TRAILING,
    TWICE,
    ZERO,
    after_plain,
    after_scalar,
    after_space,
    after_text,
    is_word,
)
from integrator.engine.words import WORD, Names, begins_with, has_equal, hash_of


class Nodes(NamedTuple):
    """Nodes in the order of the text, a value before the values in it.

    hash, label: of a member's name, and where it begins, with its quote; of an element 0, and where the element begins.
    start, end: where the value is. after: the first node that is not in this one. escaped: a text has a backslash.
    first: the first node of each line, and the number of all. record: where the record of each line begins.
    """

    hash: Words
    label: Places
    start: Places
    end: Places
    after: Places
    escaped: Mask
    first: Places
    record: Places

    @classmethod
    def of_size(cls, size: int, lines: int) -> Nodes:
        """Return room for so many nodes."""
        label, start, end, after = (np.empty(size, np.int32) for _ in range(4))
        escaped, first = np.empty(size, np.bool_), np.zeros(lines + 1, np.int32)
        return cls(np.empty(size, np.uint64), label, start, end, after, escaped, first, np.zeros(lines, np.int32))


class LineFault(NamedTuple):
    """The first line that is not accepted, by its place (the number of lines if there is none), why, and where.

    escaped: names that are written with a backslash.
    """

    line: int
    code: int
    at: int
    escaped: int


def index_lines(text: Octets, text_words: Words, offsets: Places) -> tuple[LineFault, Nodes]:
    """Return what is wrong with the lines, and their nodes.

    Each line ends in a newline, and the text is a word or longer.
    """
    longest = int(np.diff(offsets).max(initial=0))
    names = Names.of_size(longest // 4 + 1)  # a member has at least four bytes: "":0
    nodes = Nodes.of_size(int(_most_nodes(text)), len(offsets) - 1)
    stack = np.empty((MAX_DEPTH, 6), np.int64)
    return LineFault(*_index(text, text_words, offsets, names, nodes, stack, 0, 0)), nodes


def resume_index(text: Octets, offsets: Places, nodes: Nodes, found: LineFault) -> tuple[list[LineFault], int]:
    """Return what is wrong with each line that is not accepted, given the first one that `index_lines` found.

    Afterwards `nodes` are those of all other lines. The second result says how many names are written with a backslash.
    """
    text_words = words(text)
    names = Names.of_size(int(np.diff(offsets).max(initial=0)) // 4 + 1)
    stack = np.empty((MAX_DEPTH, 6), np.int64)
    wrong, escaped = list[LineFault](), found.escaped
    while found.code != OK:
        wrong.append(found)
        node = int(nodes.first[found.line])
        found = LineFault(*_index(text, text_words, offsets, names, nodes, stack, found.line + 1, node))
        escaped += found.escaped
    return wrong, escaped


@compiled
def _most_nodes(text: Octets) -> int:
    """Return how many nodes there are at most: each is after a comma or an opening bracket."""
    count = 0
    for byte in text:
        count += (byte == COMMA) | (byte == OPEN) | (byte == LIST)
    return count


@compiled
def _index(  # noqa: C901, PLR0912, PLR0915 - one state machine: what it keeps would be handed to each part
    text: Octets,
    text_words: Words,
    offsets: Places,
    names: Names,
    nodes: Nodes,
    stack: Ints,
    begin_line: int,
    node: int,
) -> tuple[int, int, int, int]:
    """Index all lines up to the first one that is not accepted; return a LineFault.

    begin_line: the first line. node: the first node that is written. stack: room for each open bracket: which, the
    names before it, its node, and `likely`, `likely_end` and `is_likely` of what it is in.
    """
    name_hash, name_start, name_end = names.hash, names.start, names.end
    hashes, labels, starts, ends, afters = nodes.hash, nodes.label, nodes.start, nodes.end, nodes.after
    with_backslash, first_of, records = nodes.escaped, nodes.first, nodes.record
    escaped = 0
    for line in range(begin_line, len(offsets) - 1):
        first_of[line] = node
        depth = count = 0
        own = inner = -1
        # Most lines have the names of the line before. `likely`, before `likely_end`, is that line's node which is
        # expected next. `is_likely`: all names of the innermost object were as expected, so no two are the same.
        likely, likely_end, is_likely = (first_of[line - 1] if line else node), node, True
        match = -1
        at = after_space(text, offsets[line])
        records[line] = at
        if text[at] == NEWLINE:
            continue
        if text[at] != OPEN and not is_word(text, at, NULL):
            return line, NO_OBJECT, at, escaped
        while at >= 0:
            # A value begins here; that of a member where the innermost bracket is an object's. `own` is its node.
            if depth:
                own = node
                node += 1
                starts[own] = at
                with_backslash[own] = False
                if inner == LIST:
                    hashes[own], labels[own] = 0, at
                    match = likely if likely < likely_end else -1
                if match >= 0:
                    likely = afters[match]
            byte = text[at]
            is_name = False
            if byte in (OPEN, LIST):
                if depth == MAX_DEPTH:
                    return line, TOO_DEEP, at, escaped
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = byte, count, own
                stack[depth, 3], stack[depth, 4], stack[depth, 5] = likely, likely_end, is_likely
                if depth:
                    same = match >= 0 and text[starts[match]] == byte
                    likely, likely_end = (match + 1, afters[match]) if same else (0, 0)
                    is_likely = True
                inner = int(byte)
                depth += 1
                at = after_space(text, at + 1)
                if byte == LIST and text[at] != LIST_END:
                    continue
                is_name = byte == OPEN and text[at] != CLOSE
            else:
                after = at + 1
                if byte == QUOTE:
                    after = after_plain(text, text_words, after)
                elif ONE <= byte <= NINE:
                    while ZERO <= text[after] <= NINE:
                        after += 1
                # Most values end here, as a call costs more than they do: texts without backslash, positive integers.
                if byte == QUOTE and text[after] == QUOTE:
                    code, after = OK, after + 1
                elif ONE <= byte <= NINE and (text[after] == COMMA or text[after] == CLOSE):
                    code = OK
                else:
                    code, after = after_scalar(text, at)
                if code > OK:
                    return line, code, after, escaped
                at = after
                if depth:
                    ends[own], afters[own] = at, node
                    with_backslash[own] = code == ESCAPED
            while not is_name:  # after a value: close brackets, as long as there are
                at = after_space(text, at)
                if depth == 0:
                    if text[at] != NEWLINE or at + 1 != offsets[line + 1]:
                        return line, TRAILING, at, escaped
                    at = -1
                    break
                if text[at] == (CLOSE if inner == OPEN else LIST_END):
                    depth -= 1
                    if inner == OPEN:
                        first = stack[depth, 1]
                        if not is_likely and has_equal(text, names, first, count):
                            return line, TWICE, at, escaped
                        count = first
                    at += 1
                    own = stack[depth, 2]
                    likely, likely_end, is_likely = stack[depth, 3], stack[depth, 4], stack[depth, 5] > 0
                    if depth:
                        ends[own], afters[own] = at, node
                        inner = stack[depth - 1, 0]
                    continue
                if text[at] != COMMA:
                    return line, NO_COMMA, at, escaped
                at = after_space(text, at + 1)
                is_name = inner == OPEN
                if not is_name:
                    break
            if is_name:
                match = -1
                if likely < likely_end and not escaped:
                    match = _likely_name(text, text_words, at, likely, labels, starts)
                    if match < 0 and afters[likely] < likely_end:
                        match = _likely_name(text, text_words, at, afters[likely], labels, starts)
                if match >= 0:
                    hash_, after = hashes[match], at + starts[match] - labels[match] - 1
                else:
                    is_likely = False
                    if text[at] != QUOTE:
                        return line, NO_NAME, at, escaped
                    after = after_plain(text, text_words, at + 1)
                    if text[after] == QUOTE:
                        code, after = OK, after + 1
                    else:
                        code, after = after_text(text, at)
                    if code > OK:
                        return line, code, after, escaped
                    escaped += code == ESCAPED
                    hash_ = hash_of(text_words, at, after)
                name_hash[count], name_start[count], name_end[count] = hash_, at, after
                count += 1
                hashes[node], labels[node] = hash_, at
                at = after_space(text, after)
                if text[at] != COLON:
                    return line, NO_COLON, at, escaped
                at = after_space(text, at + 1)
    first_of[len(offsets) - 1] = node
    return len(offsets) - 1, OK, 0, escaped


@compiled
def _likely_name(text: Octets, text_words: Words, at: int, likely: int, labels: Places, starts: Places) -> int:
    """Return the likely member if its name and a colon are here, else -1. Its name has no backslash."""
    label = labels[likely]
    size = starts[likely] - label
    if at + size + WORD > len(text) or text[label + size - 1] != COLON or text[label + size - 2] != QUOTE:
        return -1
    return likely if begins_with(text_words, at, text_words, label, size) else -1
