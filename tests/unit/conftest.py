"""What several pure tests watch."""

import pytest

from integrator.encode.table import TableEncoder


@pytest.fixture
def together(monkeypatch):
    """The tables whose rows were encoded with those of others."""
    names, encode = set(), TableEncoder.fragments

    def noted(encoder, changes, *rest):
        names.update(changes.tables if len(changes.tables) > 1 else ())
        return encode(encoder, changes, *rest)

    monkeypatch.setattr(TableEncoder, "fragments", noted)
    return names
