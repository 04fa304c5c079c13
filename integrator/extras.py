"""Libraries that extras of the package install: imported where they are first used."""

from __future__ import annotations

import importlib
from typing import Any

from integrator.errors import EnvironmentFault


class Library:
    """A module whose attributes are looked up when they are asked for. Raises EnvironmentFault where it is missing."""

    def __init__(self, extra: str, purpose: str, name: str, *submodules: str) -> None:
        """purpose: what needs it, as a message begins. submodules: those that are imported with it."""
        self._extra, self._purpose, self._names = extra, purpose, (name, *(f"{name}.{one}" for one in submodules))

    def load(self) -> Any:
        """Import and return the module. Raises EnvironmentFault, which says which extra has it."""
        try:
            loaded = [importlib.import_module(name) for name in self._names]
        except ImportError as error:
            raise EnvironmentFault(
                f"{self._purpose} needs a library that is not installed here ({error}): "
                f"pip install 'integrator[{self._extra}]', on the driver and on every executor"
            ) from None
        return loaded[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what copies and pickles ask for
            raise AttributeError(name)
        found = getattr(self.load(), name)
        setattr(self, name, found)  # which is found there from now on
        return found
