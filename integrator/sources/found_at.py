"""How the change files of a channel's source are found.

Apart from Spark's data source: its processes need not read the channel's model, which takes longer than all else.
"""

from __future__ import annotations

from integrator.channel.sources import FilesLocation, SocketLocation
from integrator.sources.files.listing import Listing
from integrator.sources.sockets.spool import PATTERN


def listing_of(location: FilesLocation | SocketLocation, path: str, delay_s: int = 0) -> Listing:
    """Return how the files of `location`, at `path`, are found: those that are older than `delay_s` seconds."""
    if isinstance(location, SocketLocation):
        return Listing(path, PATTERN, (), "name", delay_s)
    return Listing(path, location.pattern, tuple(location.ignore), location.order, delay_s)
