"""errors.tolerance: all, in the whole job: each line is sent or in the dead letter topic, and a repetition is the same."""

import json

import pytest
from structlog.testing import capture_logs

from integrator.errors import DataError
from tests.broker.test_actions import channel
from tests.parts import kafka_io

pytestmark = [pytest.mark.broker, pytest.mark.spark]

FILES, LINES = 6, 50
BROKEN = [b"{", b'{"k": 1', b"\xff", b"[]"]


@pytest.fixture
def made(broker, tmp_path, name, request):
    delivery = getattr(request, "param", "at_least_once")
    broker.create([name], 2)
    path = channel(tmp_path, broker, name, "{action: Integrate, CycleByteLimit: 0}")
    errors = "{tolerance: all, deadletterqueue.topic.name: NAME, deadletterqueue.topic.replication.factor: 1}"
    path.write_text(f"{path.read_text()}delivery: {delivery}\nerrors: {errors.replace('NAME', f'{name}.dead')}\n")
    return path


def write(directory):
    """Files in which each fifth line is broken; returns the ids of the others, and the broken lines."""
    directory.mkdir(exist_ok=True)
    ids, broken = [], []
    for file in range(FILES):
        lines = []
        for line in range(LINES):
            number = file * LINES + line
            if line % 5 == 3:
                broken.append(BROKEN[number % len(BROKEN)])
                lines.append(broken[-1])
            else:
                ids.append(number)
                row = {"hvr_op": 1, "hvr_tx_seq": f"{number + 1:X}", "k": number, "name": "", "region": "", "n": 0}
                lines.append(json.dumps(row).encode())
        (directory / f"{file}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    return ids, broken


@pytest.mark.parametrize("made", ["at_least_once", "exactly_once"], indirect=True)
def test_each_line_is_sent_or_a_dead_letter(made, broker, tmp_path, name, integrate_once):
    ids, broken = write(tmp_path / "in")
    with capture_logs() as logs:
        integrate_once(made)
    received = [json.loads(one.value)["k"] for one in kafka_io.read_all(broker.servers, [name])]
    dead = kafka_io.read_all(broker.servers, [f"{name}.dead"])
    assert sorted(received) == ids
    assert [one.value for one in dead] == broken
    headers = [{key.rpartition(".")[2]: text for key, text in one.headers} for one in dead]
    assert [(one["file"].decode()[-7:], one["line"]) for one in headers[:2]] == [("0.jsonl", b"4"), ("0.jsonl", b"9")]
    synced = [log for log in logs if log["event"] == "cycle synced"]
    assert sum(log["rejected"] for log in synced) == len(broken)
    rejected = [log for log in logs if log["event"] == "lines rejected"]
    assert [(log["log_level"], log["count"], log["first_line"]) for log in rejected] == [
        ("warning", LINES // 5, 4)
    ] * FILES


def test_too_many_in_several_cycles_stop_the_job(made, broker, tmp_path, name, integrate_once):
    text = made.read_text().replace("{tolerance: all", "{tolerance: all, threshold: {failed: 35, of: 200}")
    made.write_text(text.replace("CycleByteLimit: 0", "CycleByteLimit: 1"))  # a cycle for each file
    write(tmp_path / "in")
    with pytest.raises(DataError, match="more than 35 of 200 lines rejected"):
        integrate_once(made)
    assert len(kafka_io.read_all(broker.servers, [f"{name}.dead"])) == 4 * LINES // 5
    integrate_once(made)
    assert len(kafka_io.read_all(broker.servers, [f"{name}.dead"])) == FILES * LINES // 5


SECRET = "S3CR3T-4711"
MASKING = (
    "{action: ColumnProperties, Name: name, Absent: true}",
    '{action: ColumnProperties, Name: region, IntegrateExpression: "sql: md5({region})", Datatype: varchar}',
    '{action: ColumnProperties, Name: x, Extra: true, Datatype: integer, IntegrateExpression: "sql: cast({name} as int)"}',
)


def test_masked_values_are_in_no_log_error_or_header(broker, tmp_path, name, integrate_once):
    broker.create([name], 1)
    path = channel(tmp_path, broker, name, *MASKING)
    right = {"hvr_op": 1, "k": 0, "name": "1", "region": SECRET[:9], "n": 0}
    wrong = [{"name": SECRET}, {"name": [SECRET]}, {"region": {"a": SECRET}}, {"hvr_tbl_name": "x", "name": SECRET}]
    rows = [{**right, **members, "hvr_tx_seq": f"{at:X}"} for at, members in enumerate([{}, *wrong], 1)]
    lines = [json.dumps(row) for row in rows]
    (tmp_path / "in").mkdir(exist_ok=True)
    (tmp_path / "in" / "0.jsonl").write_text("\n".join([*lines, lines[0][:-1]]) + "\n")
    with capture_logs() as logs, pytest.raises(DataError) as raised:
        integrate_once(path)
    assert SECRET not in f"{raised.value}{logs}"
    errors = f"{{tolerance: all, deadletterqueue.topic.name: {name}.dead, log.enable: true, REPLICATION: 1}}"
    path.write_text(
        f"{path.read_text()}errors: {errors.replace('REPLICATION', 'deadletterqueue.topic.replication.factor')}\n"
    )
    with capture_logs() as logs:
        integrate_once(path)
    dead = kafka_io.read_all(broker.servers, [f"{name}.dead"])
    assert len(dead) == len(wrong) + 1
    assert SECRET not in f"{[one.headers for one in dead]}{logs}"
    state = [one for one in (tmp_path / "state").rglob("*") if one.is_file()]
    assert [one for one in state if SECRET.encode() in one.read_bytes()] == []
