"""Secrets are stars in each value of a log event, however deep it stands (I7)."""

import json

import structlog

from integrator.channel.secret import HIDDEN, Secrets
from integrator.run import progress


def test_secrets_are_stars_in_lists_and_objects_too(capsys):
    secrets = Secrets()
    secrets.add("s3cret-word")
    before = structlog.get_config()
    try:
        progress.configure(secrets, json_lines=True)
        structlog.get_logger().info(
            "e", text="s3cret-word!", many=["a", ("s3cret-word", 1)], by={"s3cret-word": {"x": "s3cret-word"}}
        )
    finally:
        structlog.configure(**before)
    line = capsys.readouterr().err
    assert "s3cret-word" not in line
    assert json.loads(line)["many"] == ["a", [HIDDEN, 1]]
