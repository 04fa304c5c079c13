"""Sets of global transaction identifiers, and what is kept of them with segments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from integrator.sources.binlog.gtids import Gtid, Gtids, gtid_in
from integrator.sources.binlog.history import History
from integrator.sources.capture import frames
from integrator.sources.capture.record import Record
from integrator.sources.spool import Spool

A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4f22fa47-71ca-11e1-9e33-c80aa9429562"


def mysql(text=""):
    return Gtids(text, is_mariadb=False)


def maria(text=""):
    return Gtids(text, is_mariadb=True)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("", ""),
        (f"{A}:1-5", f"{A}:1-5"),
        (f"{A.upper()}:1-3:5,\n{B}:7", f"{A}:1-3:5,{B}:7"),
        (f"{A}:1-3:4-5:9, {A}:8", f"{A}:1-5:8-9"),
        (f"{A}:1-5:tag:1-3:6:other_2:2", f"{A}:1-5,{A}:tag:1-3:6,{A}:other_2:2"),
        (f"{A}:5,{A}:1-9", f"{A}:1-9"),
    ],
)
def test_sets_as_mysql_writes_them(written, text):
    assert mysql(written).text == text
    assert mysql(text).text == text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("", ""),
        ("[]", ""),
        ("[0-1-5]", "0-1-5"),
        ("0-1-300,\n0-2-400,1-1-7", "0-1-300,0-2-400,1-1-7"),
        ("0-1-300@17,0-2-400,0-1-500@18", "0-2-400,0-1-500@18"),
        ("0-1-300@17,0-1-200@16", "0-1-300@17"),
    ],
)
def test_sets_as_mariadb_writes_them(written, text):
    assert maria(written).text == text
    assert maria(text).text == text


@given(st.lists(st.tuples(st.sampled_from([A, f"{A}:tag", B]), st.integers(1, 30))), st.integers(0, 30))
def test_mysqls_sets_are_sets(members, at):
    """Added in any order, one by one or as sets, they have what was added, and lack the rest."""
    made, joined = mysql(), mysql(",".join(Gtid(*one).text for one in members[:at]))
    for one in members:
        made.add(Gtid(*one))
    joined.update(mysql(",".join(Gtid(*one).text for one in members[at:])))
    assert sorted(made.text.split(",")) == sorted(joined.text.split(","))
    for source in (A, f"{A}:tag", B):
        for number in range(1, 32):
            assert (Gtid(source, number) in made) == ((source, number) in members)
    some = mysql(",".join(Gtid(*one).text for one in members[:at]))
    named = some.lacking(made)
    assert bool(named) == bool(set(members) - set(members[:at]))
    if named and " more" not in named:
        found = mysql(named)
        missing = set(members) - set(members[:at])
        assert all((Gtid(*one) in found) == (one in missing) for one in members)
    assert not made.lacking(some)


def test_what_a_set_of_mysql_lacks_is_named():
    own = mysql(f"{A}:1-10:15-20")
    assert own.lacking(mysql(f"{A}:1-10")) == ""
    assert own.lacking(mysql(f"{A}:5-25,{B}:3")) == f"{A}:11-14, {A}:21-25, {B}:3"
    assert own.lacking(mysql(f"{A}:1:tag:1-2")) == f"{A}:tag:1-2"
    assert mysql().lacking(mysql(f"{A}:" + ":".join(map(str, range(1, 60, 2))))).endswith(" and 18 more")


def test_what_a_set_of_mariadb_lacks_is_named():
    """A server of which it has nothing is before the last one of the domain, or is lacking."""
    own = maria("0-1-300,0-2-400,7-1-5")
    assert own.lacking(maria("0-1-299,0-2-400")) == ""
    assert own.lacking(maria("0-2-403,0-3-350")) == "0-2-401 to 0-2-403"
    assert own.lacking(maria("0-3-401,8-1-1")) == "0-3-401, 8-1-1"
    assert Gtid("0-9", 400) in own
    assert Gtid("0-9", 401) not in own
    assert own.last() == {"0": Gtid("0-2", 400), "7": Gtid("7-1", 5)}
    assert own.newest() == Gtid("7-1", 5)
    own.add(Gtid("0-1", 401, 9))
    assert own.newest() == own.last()["0"] == Gtid("0-1", 401, 9)
    assert own.has_exactly(Gtid("0-1", 401))
    assert maria().newest() is None
    assert not own.has_exactly(Gtid("0-1", 300))


@pytest.mark.parametrize("one", [Gtid(A, 7), Gtid(f"{A}:tag", 7)])
def test_a_transaction_of_mysql_is_its_text(one):
    assert gtid_in(one.text, is_mariadb=False) == one
    assert one in mysql(one.text)


def test_a_transaction_of_mariadb_is_its_text():
    assert gtid_in("0-1-7@18", is_mariadb=True) == Gtid("0-1", 7, 18)
    assert Gtid("0-1", 7, 18).text == "0-1-7@18"


def test_what_is_durable_says_what_was_captured_wherever_a_crash_cuts_it(tmp_path):
    """A transaction counts once its end is durable; until then it is the open one."""
    record = Record("a", "log", "", gtids=f"{A}:1-4")
    history = History(b"", record, is_mariadb=False)
    segment = frames.Segment(frames.Standing(history=history.kept()))
    for number in (5, 6):  # the first is none of ours
        history.begin(Gtid(A, number))
        if number == 6:
            for message in (frames.NOTE + history.note(), frames.begin(64, 0, number), frames.LEFT):
                segment.add(message)
            history.noted()
            segment.add(frames.commit(64, 80, 0))
        history.end()
    assert history.known.text == f"{A}:1-6"
    spool, data = Spool(tmp_path, framing=frames.FRAMES), b"".join(segment.pieces)
    found = set()
    for end in range(len(data) + 1):
        if frames.FRAMES.whole(data[:end]) != end or not end:
            continue
        path = tmp_path / f"{end:012d}.s.1.frames"
        path.write_bytes(data[:end])
        after = History(frames.end_of(path).history, record, is_mariadb=False)
        found.add((after.known.text, after.open and after.open.number, frames.end_of(path).is_open))
    spool.close()
    assert found == {
        (f"{A}:1-4", None, False),
        (f"{A}:1-5", 6, False),  # its changes are not there yet
        (f"{A}:1-5", 6, True),
        (f"{A}:1-6", None, False),
    }


def test_after_a_transaction_without_a_gtid_nobody_knows_what_was_captured():
    record = Record("a", "log", "", gtids=f"{A}:1-4")
    history = History(b"", record, is_mariadb=False)
    history.begin(None)
    kept = history.note()
    history.end()
    assert History(kept, record, is_mariadb=False).known is None
    assert History(history.kept(), record, is_mariadb=False).known is None
    assert History(b"", Record("a", "log", ""), is_mariadb=False).kept() == b""


def test_transactions_of_the_server_before_are_skipped_up_to_where_the_log_has_them():
    record = Record("b", "log", "", inherited=f"{A}:1-4", inherited_until=1000)
    history = History(b"", record, is_mariadb=False)
    assert history.is_inherited(Gtid(A, 4), 999)
    assert not history.is_inherited(Gtid(A, 5), 999)
    assert not history.is_inherited(Gtid(A, 4), 1000)
    with pytest.raises(ValueError):  # noqa: PT011 - it has no text
        history.is_inherited(None, 10)


def test_what_a_server_wrote_by_itself_is_not_captured():
    """A replica that is written to has numbers below those that were captured, of a server that is not known."""
    known = maria("0-1-100,1-1-7")
    known.begin_here()
    for number in range(101, 201):
        known.add(Gtid("0-1", number, 5))
    known = maria(known.text)
    before, own, of_others = Gtid("0-3", 90), Gtid("0-3", 150), Gtid("2-3", 1)
    assert [one in known for one in (before, own, of_others, Gtid("1-9", 7))] == [True, False, False, True]
    assert known.lacking(maria("0-1-200,0-3-150")) == "0-3-101 to 0-3-150"
    assert known.last() == {"0": Gtid("0-1", 200, 5), "1": Gtid("1-1", 7)}
    assert known.newest() == Gtid("0-1", 200, 5)
    assert maria("0-1-50").lacking(known) == "1-1-1 to 1-1-7, 0-1-51 to 0-1-200"
    empty = maria("")
    empty.begin_here()
    assert (Gtid("0-3", 1) in empty, empty.newest(), empty.last()) == (False, None, {})
