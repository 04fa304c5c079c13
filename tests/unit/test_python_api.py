"""The Python interface without Spark and Kafka: its names, and its errors."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

import integrator
from integrator.errors import ConfigurationError, EnvironmentFault
from integrator.run.spark import session
from tests.parts import channels

HEAVY = "pyspark", "pyarrow", "numpy", "pydantic", "confluent_kafka"


def test_importing_it_imports_nothing_else():
    code = f"import integrator, sys; print([name for name in {HEAVY} if name in sys.modules], integrator.__all__)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == f"[] {integrator.__all__}\n"


@pytest.mark.parametrize("name", integrator.__all__)
def test_each_public_name_is_there_and_documented(name):
    assert getattr(integrator, name).__doc__


def test_run_is_the_function_though_a_package_has_its_name():
    from integrator.run import daemon

    assert daemon.integrate
    assert integrator.run.__name__ == "run"


def test_another_name_is_refused_with_those_there_are():
    with pytest.raises(AttributeError, match=r"'chanel'; it has Channel, Sink, run, sink"):
        integrator.chanel  # noqa: B018


@pytest.mark.parametrize(("option", "expected"), [("table", "do you mean tables?"), ("xyz", "accepted are source, to")])
def test_an_unknown_option_is_refused_with_what_is_accepted(option, expected):
    with pytest.raises(TypeError) as raised:
        integrator.run("postgresql://x@y/z", "localhost:9092", **{option: "x"})
    assert f"no option '{option}'" in str(raised.value)
    assert expected in str(raised.value)


def test_an_option_with_a_word_that_is_none_of_its_own_is_refused():
    with pytest.raises(ConfigurationError, match="--deletes 'rows' is none of row, tombstone"):
        integrator.run("postgresql://x@y/z", "localhost:9092", deletes="rows")


def test_all_problems_of_a_channel_are_raised_as_data(tmp_path):
    path = channels.shop(tmp_path, "localhost:9092", "t")
    path.write_text(
        path.read_text().replace("dialect: wal2json", "dialect: wal3json").replace("class: kafka", "clas: k")
    )
    with pytest.raises(ConfigurationError) as raised:
        integrator.Channel.load(path)
    assert {(one.file, one.line > 0) for one in raised.value.problems} == {(str(path), True)}
    assert len(raised.value.problems) > 1


def test_the_environment_is_added_and_its_secrets_are_not_shown(tmp_path, monkeypatch):
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    path = channels.shop(tmp_path, "localhost:9092", "t")
    path.write_text(path.read_text() + '  - {action: Environment, Name: NO_SUCH, Value: "${SHOP_PASSWORD}"}\n')
    with pytest.raises(ConfigurationError, match="the environment has no SHOP_PASSWORD"):
        integrator.Channel.load(path)
    monkeypatch.setenv("SHOP_PASSWORD", "")
    with pytest.raises(ConfigurationError, match="NO_SUCH") as raised:
        integrator.Channel.load(path, {"SHOP_PASSWORD": "open sesame"})
    assert "sesame" not in f"{raised.value}{raised.value.problems}"


def test_a_plan_is_printed(tmp_path):
    plan = integrator.Channel.load(channels.shop(tmp_path, "localhost:9092", "t")).plan
    assert "table customers → topic t.customers" in plan


def test_a_sink_needs_a_directory_of_change_files(tmp_path):
    path = channels.shop(tmp_path, "localhost:9092", "t")
    files = f"{{class: files, path: {tmp_path}/in, dialect: wal2json, poll_seconds: 0.1}}"
    topics = '{class: kafka, Kafka_Brokers: ["localhost:9092"], topics: [a], dialect: wal2json}'
    path.write_text(path.read_text().replace(files, topics))
    with pytest.raises(
        ConfigurationError, match=r"channel.yaml:\d+: \$.locations.src: .* \{class: files, path: DIRECTORY\}"
    ):
        integrator.sink(path)


@pytest.mark.parametrize(("key", "value"), [("pattern", '"*.jsonl"'), ("ignore", '["0*"]')])
def test_a_sink_needs_a_channel_that_takes_its_files(key, value, tmp_path):
    path = channels.shop(tmp_path, "localhost:9092", "t")
    path.write_text(path.read_text().replace("poll_seconds: 0.1", f"{key}: {value}"))
    with pytest.raises(
        ConfigurationError, match=rf"src.{key}: excludes the files .* called as 0{{20}}\..*: leave {key} out"
    ):
        integrator.sink(path)


@pytest.mark.parametrize(
    ("master", "conf", "expected"),
    [
        ("local[2,4]", {}, "tries a task 4 times.*without the second number"),
        ("spark://x:7077", {}, "tries a task 4 times.*spark.task.maxFailures=1"),
        ("local[2]", {"spark.speculation": "true"}, "spark.speculation=false"),
    ],
)
def test_a_spark_that_tries_tasks_beside_each_other_is_refused(master, conf, expected):
    spark = SimpleNamespace(sparkContext=SimpleNamespace(master=master, getConf=lambda: conf))
    with pytest.raises(EnvironmentFault, match=expected):
        session.guest(spark)
