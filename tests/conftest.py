"""The parts that tests share: one broker and one Spark session a run."""

from __future__ import annotations

import os
import random
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.parts import brokers, daemon, java, jdbc, nightly, registries, variants

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent
DATA = ROOT / "data" / "postgres-shop"
_SEED = "INTEGRATOR_TEST_SEED"
_shared: list[SparkSession] = []
"""The session of this process's tests, while there is one."""


os.environ.setdefault("INTEGRATOR_LOG_CYCLES", "1")  # which tests wait for
java.JVM_OPTIONS.append("-XX:TieredStopAtLevel=1")  # no second compiler: they live for seconds or minutes
# no deadline: what is compiled is compiled by the first example
hypothesis.settings.register_profile("suite", deadline=None, max_examples=30)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=1000)  # `make fuzz`
hypothesis.settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--by-day",
        action="store_true",
        help="without what is for the night (tests/parts/nightly.py); and of tests that have variants (databases, "
        f"versions, guarantees, formats), each with one, by {_SEED}",
    )


def pytest_configure() -> None:
    os.environ.setdefault(_SEED, str(random.SystemRandom().randrange(10_000)))  # which xdist's processes have, too


def pytest_report_header(config: pytest.Config) -> list[str]:
    header = ["broker: said by the first test that needs one, and in the summary"]
    if config.getoption("--by-day"):
        header.append(f"one variant of each test that has several: {_SEED}={os.environ[_SEED]}; the rest: make nightly")
    return header


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--by-day"):
        ids = [item.nodeid for item in items]
        left_out = nightly.left_out(ids)
        left_out |= variants.others([one for one in ids if one not in left_out], int(os.environ[_SEED]))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    took = getattr(config, "integrator_broker", None)
    terminalreporter.write_line(f"broker taken: {took or 'none was needed'}")
    terminalreporter.write_line(f"schema registry taken: {getattr(config, 'integrator_registry', 'none was needed')}")


@pytest.fixture(scope="session")
def broker(pytestconfig: pytest.Config) -> Iterator[brokers.Broker]:
    with brokers.broker() as taken:
        pytestconfig.integrator_broker = taken.kind
        yield taken


@pytest.fixture(scope="session")
def registry_server(pytestconfig: pytest.Config) -> Iterator[registries.Registry]:
    with registries.registry() as taken:
        pytestconfig.integrator_registry = taken.kind if taken else "none is to be had"
        if taken is None:
            pytest.skip("a real schema registry needs mvn and Java 17, or INTEGRATOR_TEST_REGISTRY")
        yield taken


@pytest.fixture
def real_broker(broker: brokers.Broker) -> brokers.Broker:
    if not broker.real:
        pytest.skip(f"only a real Apache Kafka can show this; here is {broker.kind}")
    return broker


@pytest.fixture(scope="session")
def converter_class_path() -> str:
    class_path = brokers.libraries()
    if class_path is None:
        pytest.skip("Kafka's JsonConverter needs mvn and Java")
    return class_path


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    """The one session of this process's tests, with the JDBC drivers that are to be had."""
    from tests.parts import in_process

    jars = [str(jar) for jar in (jdbc.driver(), jdbc.mariadb_driver()) if jar]
    started = in_process.session_of("tests", jars)
    _shared.append(started)
    yield started
    _shared.clear()
    started.stop()


@pytest.fixture(autouse=True, scope="session")
def at_the_root() -> Iterator[None]:
    before = Path.cwd()
    os.chdir(ROOT)
    yield
    os.chdir(before)


@pytest.fixture(autouse=True)
def no_daemon_is_left() -> Iterator[None]:
    with daemon.none_left():
        yield


@pytest.fixture(autouse=True)
def spark_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A command in this process begins no JVM, which the session of later tests would get, and does not stop theirs."""
    if commands := sys.modules.get("integrator.cli.main"):
        monkeypatch.setattr(commands, "_begin_spark", lambda: None)
    yield
    for started in _shared:
        assert started.sparkContext._jsc is not None, "this test stopped the Spark of all: see tests.parts.in_process"


@pytest.fixture
def name() -> str:
    """A name that no other test uses, for topics."""
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture(scope="session")
def integrate_once(spark: object) -> Callable[[Path], None]:
    """Integrate existing changes, by the channel in a file, in the shared session: `--once` without its process."""
    from tests.parts import in_process

    return partial(in_process.integrate, spark)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Said:
    """What a command came to: its exit code, and what it printed and logged."""

    code: int
    out: str
    err: str


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """A command of `run.py` without its process. spark: the session it takes where it needs one."""
    from tests.parts import in_process

    def run(*words: object, spark: object = None) -> Said:
        capsys.readouterr()
        code = in_process.command(*words, spark=spark)  # type: ignore[arg-type]
        return Said(code, *capsys.readouterr())

    return run
