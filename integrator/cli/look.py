"""What `check` sees on this machine of a channel's source: directories and files, ports; no broker and no Spark."""

from __future__ import annotations

import glob
import socket
from collections.abc import Iterator
from pathlib import Path

from integrator.channel.paths import as_known, as_written, names_in
from integrator.channel.problems import named
from integrator.channel.sources import FilesLocation, SnapshotLocation, SocketLocation
from integrator.errors import EnvironmentFault, Problem
from integrator.names import nearest
from integrator.plan import Plan
from integrator.plan.source import path_of
from integrator.run.state import mounts
from integrator.run.state.directory import State
from integrator.sources.listing import RIGHT, Listing

_TIMEOUT_S = 5.0
_REMOTE = "://"
"""In a path that is not of this machine: --connect looks there."""


def problems(plan: Plan) -> list[Problem]:
    """Return what is wrong with the source and the state directory of a plan, at the keys that say where they are."""
    name, location = plan.recipe.messages.cap_loc, plan.source
    found = [("path", text) for text in _of_files(plan)]
    if isinstance(location, SocketLocation) and location.listen and State(plan.state).holder() is None:
        found += [("listen", text) for text in _taken(location.listen)]
    of_state = [plan.problem(("state",), text)] if (text := mounts.lock_problem(Path(plan.state))) else []
    return [*of_state, *(plan.problem(("locations", name, key), text) for key, text in found)]


def _of_files(plan: Plan) -> Iterator[str]:
    location = plan.source
    if isinstance(location, FilesLocation) and _REMOTE not in location.path:
        yield from listed(location, plan.directory)
    if isinstance(location, SnapshotLocation) and _REMOTE not in location.path:
        paths = {table.table.name: path_of(location, table.in_source) for table in plan.recipe.tables}
        try:
            without = [name for name, path in paths.items() if not _is_there(path)]
        except PermissionError as error:
            yield f"{as_known(error.filename)}: cannot be listed: {error.strerror}; {RIGHT}"
            return
        if without:
            first = paths[without[0]]
            yield f"{named(without, len(paths))}: there is no file {as_known(first)}; make it, or mend the path"


def listed(location: FilesLocation, directory: str) -> Iterator[str]:
    """Yield why change files cannot be listed. directory: of the channel's file."""
    listing = Listing(location.path, location.pattern, tuple(location.ignore), location.order)
    try:
        listing.files()
    except EnvironmentFault as error:
        yield f"{str(error).replace(location.path, as_known(location.path), 1)}{_beside(location.path, directory)}"


def _beside(path: str, directory: str) -> str:
    """Return what may be meant by a path of this machine that is not there: one beside it that is like it."""
    given = Path(path)
    beside = [] if _REMOTE in path else names_in(given.parent)
    near = nearest(given.name, beside) if given.name not in beside else None
    return f"; do you mean {as_written(str(given.parent / near), directory)}?" if near else ""


def _is_there(path: str) -> bool:
    """Return whether there is a file, a directory with something in it, or a match of a pattern."""
    bare = path.removeprefix("file:")
    found = map(Path, glob.iglob(bare))  # noqa: PTH207 - a pattern may be absolute
    return any(not one.is_dir() or any(one.iterdir()) for one in found)


def _taken(address: str) -> Iterator[str]:
    """Yield why an address cannot be listened on."""
    host, _, port = address.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, place in found:
            with socket.socket(family, kind, protocol) as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                tried.bind(place)
    except OSError as error:
        reason = error.strerror or str(error)
        yield f"{address} cannot be listened on: {reason}; choose another port, or end the process that has this one"


def reached(address: str) -> Iterator[str]:
    """Yield why nobody answers at an address."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT_S).close()
    except OSError as error:
        reason = error.strerror or str(error)
        yield f"{address} does not answer: {reason}; start what sends the lines, or mend `connect`"
