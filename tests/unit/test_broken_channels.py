"""`check` of channels that are wrong: each problem once, with its line and a remedy, and the remedy mends it.

Nothing is started, and no broker is asked.
"""

import re
import sys

import pytest

from integrator.cli import main
from tests.unit.broken_channels import CASES, PARTS
from tests.unit.broken_channels.contract import apply, matches, write
from tests.unit.broken_channels.edits import kafka, source, variable


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """`check` of the good channel after some edits: the exit code, and what is printed, line by line."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path)

    def checked(edits, arguments=()):
        for edit in edits:
            apply(tmp_path, edit)
        monkeypatch.setattr(sys, "argv", ["run.py", "check", "--channel", "channel.yaml", *arguments])
        code, printed = main.main(), capsys.readouterr()
        return code, (printed.out + printed.err).splitlines()

    return checked


def test_the_good_channel_is_good(check):
    assert check([]) == (0, ["channel.yaml: 6 tables, no problems"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_problem_is_printed_once_with_its_line_and_a_remedy_that_mends_it(case, check):
    code, printed = check(case.mistake, case.arguments)
    assert (code, printed[-1]) == (2, "(configuration: the author of the channel must act)")
    problems = printed[:-1]
    assert len(problems) == len(case.says), problems
    for expected, line in zip(case.says, problems, strict=True):
        assert matches(expected, line), line
    said = set(re.findall(r"\w+", " ".join(printed)))
    assert {word for word in case.words if word not in said} == set(), "the remedy has words that nobody said"
    code, printed = check(case.remedy, case.arguments)
    assert code == 0, printed


def test_there_are_cases_of_every_part():
    assert len({case.name for case in CASES}) == len(CASES) >= 200
    assert all(len(part.CASES) >= 8 for part in PARTS)


ALL = [
    # a mistake of each phase: keys, values, tables, scopes, columns, expressions, formats, the client, this machine
    ("channel: shop", "chanel: shop"),
    ("path: in", "paht: inn"),
    ("dialect: wal2json", "dialect: wal2jsn"),
    ("localhost:9092", "http://localhost:90921"),
    ("{hvr_tbl_name}", "{hvr_tabel_name}"),
    ("{Partitions: 4", "{Partitions: four"),
    ("[shop.sql]", "[shop.sql, more.sql]"),
    ("[orders, items]", "[oders, items]"),
    ("Datatype: integer", "Datatype: intger"),
    ('"{hvr_op}"', '"{hvr_opp}"'),
    ("TimeKey: true", "TimeKey: yess"),
    ("10000000", "10MB"),
    (
        "state: state",
        "state: s3://x\nerrors: {tolerance: ALL}\nrestart: {tries: -1}\nmonitor: {listen: here}\nlinger.ms: 5",
    ),
    (
        "  - action: Integrate\n",
        "  - {action: Environment, Name: HVR_KAFKA_PROPERTY, Value: lnger.ms=5}\n"
        "  - {action: Restrict, table: orders, CaptureCondition: '{totl} > 0'}\n"
        "  - {action: FileFormat, Csv: true, JsonMode: ROW_ARRAY}\n"
        "  - {action: Scheduling, IntegrateStartTimes: '61 * * * *'}\n"
        "  - action: Integrate\n",
    ),
]
AT = [
    "$.chanel",
    "$.locations.src.paht",
    "$.locations.src.dialect",
    "$.locations.kaf.Kafka_Brokers[0]",
    "$.locations.kaf.Kafka_Default_Topic",
    "$.locations.kaf.Create_Topics.Partitions",
    "$.tables[1]",
    "$.table_groups.BIG[0]",
    "$.actions[0].Datatype",
    "$.actions[0].IntegrateExpression",
    "$.actions[1].TimeKey",
    "$.actions[2].Value",
    "$.actions[3].CaptureCondition",
    "$.actions[4].JsonMode",
    "$.actions[5].IntegrateStartTimes",
    "$.actions[6].CycleByteLimit",
    "$.state",
    "$.errors.tolerance",
    "$.restart.tries",
    "$.monitor.listen",
    "$.linger.ms",
]


def test_problems_of_all_phases_are_printed_at_once(check):
    code, printed = check(ALL)
    found = [re.match(r"channel.yaml:\d+: (\S+): ", line)[1] for line in printed[:-1]]
    assert (code, sorted(found)) == (2, sorted(AT)), printed


SECRETS = [
    # a mistake with a secret in it, which is in nothing that is printed
    [kafka("Stream_Password: [hunter22]")],
    [kafka("Stream_Password: {hunter22: 1}")],
    [kafka("sasl.password: hunter22", "sasl.jaas.config: x.PlainLoginModule required password=hunter22;")],
    [kafka("ssl.key.password: hunter22", "Kafka_Schema_Registry: 'http://me:hunter22@x'")],
    [("localhost:9092", "http://me:hunter22@localhost:9092")],
    [variable("sasl.passwrd=hunter22")],
    [source("class: jdbc", "url: jdbc:postgresql://me:hunter22@db:x/shop"), ("full/a", "", "")],
    [source("class: jdbc", "url: jdbc:mysql://me:hunter/22@db:1/shop")],
    [source("class: socket", "listen: 127.0.0.1:1", "secret: {hunter22: 2}")],
]


@pytest.mark.parametrize("mistake", SECRETS, ids=range(len(SECRETS)))
@pytest.mark.parametrize("words", [(), ("--refresh",)])
def test_i7_no_secret_is_in_what_is_printed_of_a_mistake(mistake, words, check):
    code, printed = check(mistake, words)
    assert code == 2
    assert not [line for line in printed if "hunter" in line]
