"""Messages that are taken in blocks are written as those that are taken one by one: each change once (I9)."""

import random

import numpy as np
import pytest

from integrator.decode.encodings.pgoutput import frame, message_at
from integrator.engine.pgoutput import HEADER_BYTES
from integrator.sources.capture.frames import FRAMES, Standing, begin, commit, standing_in
from integrator.sources.capture.intake import Intake
from integrator.sources.capture.signals import Signals
from integrator.sources.spool import Spool, sealed_in
from tests.unit.test_held import LEAF, T, U, insert, truncate, update

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler]
LIMIT = 21 * 64


def messages(seed):
    """Transactions of three tables, of which one is not captured; relations that come again; messages of others."""
    of, found = random.Random(seed), [one.message() for one in (T, U, LEAF)]
    for number in range(1, 40):
        found.append(begin(number * 64, 0, number))
        for key in range(of.randrange(6)):
            one, make = of.choice((T, U, U, LEAF)), of.choice((insert, insert, update))
            found.append(make(one, number * 100 + key) if of.random() < 0.9 else truncate(T, U))
            if of.random() < 0.1:
                found.append(of.choice((T, U)).message())
        found.append(commit(number * 64, number * 64 + 8, 0))
    return found


def made(directory, durable):
    spool = Spool(directory, framing=FRAMES)
    one = Intake(spool.writer("capture"), durable, "the server", str, Signals("", spool.path.parent, None))
    one.read = {relation.oid.to_bytes(4, "big") for relation in (T, U)}
    return one


def take(one, block):
    """Take frames as a stream does; return the commits of transactions that were to be looked at."""
    frames, at, seen = np.frombuffer(block, np.uint8), 0, []
    while at < len(frames):
        at = one.take_changes(frames, at, LIMIT)
        if at < len(frames):
            message = message_at(frames, at)
            if message[:1] == b"B":
                seen.append(int.from_bytes(message[1:9], "big"))
            one.take(message)
            at += HEADER_BYTES + len(message)
    return seen


@pytest.mark.parametrize("seed", range(20))
def test_blocks_are_written_as_their_messages_are(seed, tmp_path):
    """Also where the log is sent again from before what is durable, and a transaction is cut by a segment's end."""
    of, sent = random.Random(seed), messages(seed)
    cut = of.randrange(len(sent) // 2, len(sent))
    durable = Standing()
    for part, since in ((sent[:cut], 0), (sent, 1)):  # the second time from the start of the log
        alone, together = (made(tmp_path / name, durable) for name in ("alone", "together"))
        seals, at, seen = {of.randrange(len(part)) for _ in range(8)}, 0, []
        for number, message in enumerate(part, 1):
            alone.take(message)
            if number in seals or number == len(part):
                seen += take(together, b"".join(map(frame, part[at:number])))
                at = number
                alone.seal()
                together.seal()
        found = [[path.read_bytes() for path in sealed_in(tmp_path / name)] for name in ("alone", "together")]
        assert found[0] == found[1]
        assert [lsn for lsn in seen if lsn >= LIMIT] == [
            lsn for lsn in range(64, 40 * 64, 64) if lsn >= LIMIT and begin(lsn, 0, lsn // 64) in part
        ]
        durable = standing_in(tmp_path / "alone")
        assert since or durable.lsn
