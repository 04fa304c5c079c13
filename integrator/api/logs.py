"""Logs of channels in a process that is somebody else's: on stderr, without the secrets of any of them."""

from __future__ import annotations

from integrator.channel.secret import Secrets
from integrator.run.seen import progress

_of_all: list[Secrets] = []


def configure(secrets: Secrets) -> None:
    """Log to stderr, without these secrets, and those of the channels before."""
    if not any(known is secrets for known in _of_all):
        _of_all.append(secrets)
    progress.configure(*_of_all, of_libraries=False)
