"""I7: an address of which it is not clear where its password ends is refused, and shown nowhere."""

import pytest
import yaml

from integrator.channel.databases import address_problem
from integrator.cli import direct
from integrator.cli.first_channel import word
from integrator.errors import ConfigurationError

CUT = [
    "postgresql://u:S3cr/etPW@host/db",
    "mysql://u:S3cr#etPW@host/db",
    "mariadb://u:S3cr?etPW@host/db",
    "mysql://u:S3cr/etPW:3x@host/db",
    "postgresql://u@[::1/db",
    "mysql://u@host:S3cretPW/db",
]
WHOLE = [
    "postgresql://u@host/db",
    "postgresql://u:S3cr%2FetPW@host:5432/db?sslcert=/a@b",
    "postgresql://u@one:1,two:2/db",
    "postgresql:///db",
    "host='a b' password=x@y",
    "mysql://u@[::1]:3306/db",
]


@pytest.mark.parametrize("address", CUT)
def test_i7_an_address_that_is_cut_is_refused_and_not_shown(address, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="%2F %3F %23 and %40") as error:
        direct.channel_of(direct.Asked(address, "localhost:9092"))
    assert "etPW" not in str(error.value)


@pytest.mark.parametrize("address", WHOLE)
def test_an_address_that_is_whole_is_taken(address):
    assert address_problem(address) is None


@pytest.mark.parametrize(
    "text", ["null", "yes", "on", "12", "1.5", "~", "-", "2024-01-01", "a b", "ü", "orders", "a.b", "x/y"]
)
def test_a_word_of_a_command_is_that_text_in_the_channel(text):
    assert yaml.safe_load(f"{{key: [{word(text)}]}}") == {"key": [text]}
