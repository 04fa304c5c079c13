"""A plugin of pytest that notes which tests fail, and of which of the product's modules a test runs code.

FAILED_TESTS names the file for the first, ENTERED_MODULES that for the second: JSON, by test; importing runs no code.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

_FAILED = dict[str, str]()
_ENTERED = dict[str, set[str]]()
_PRODUCT = str(Path(__file__).parents[2] / "integrator") + "/"


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _FAILED[report.nodeid] = report.longreprtext


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _FAILED[report.nodeid] = report.longreprtext


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    if "ENTERED_MODULES" not in os.environ:
        return (yield)
    files = set[str]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        return (yield)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        inside = [one.removeprefix(_PRODUCT).removesuffix(".py") for one in files if one.startswith(_PRODUCT)]
        _ENTERED[item.nodeid] = {f"integrator.{one.replace('/', '.')}".removesuffix(".__init__") for one in inside}


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):  # its reports come to the first process, too
        return
    for variable, found in (("FAILED_TESTS", _FAILED), ("ENTERED_MODULES", _ENTERED)):
        if path := os.environ.get(variable):
            Path(path).write_text(json.dumps(found, default=sorted), encoding="utf-8")
