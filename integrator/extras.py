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
        self._loaded: Any = None

    def load(self) -> Any:
        """Return the module, which is imported once. Raises EnvironmentFault, which says which extra has it."""
        if self._loaded is not None:
            return self._loaded
        try:
            self._loaded, *_ = [importlib.import_module(name) for name in self._names]
        except ImportError as error:
            raise EnvironmentFault(
                f"{self._purpose} needs a library that is not installed here ({error}): "
                f"pip install 'integrator[{self._extra}]', on the driver and on every executor"
            ) from None
        return self._loaded

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what copies and pickles ask for
            raise AttributeError(name)
        return getattr(self.load(), name)
