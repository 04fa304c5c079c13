"""A listing of slices that is asked again and again."""

from __future__ import annotations

import time
from collections.abc import Mapping

from integrator.sources.slices import ALL, NOTHING_KNOWN, NOTHING_TAKEN, Limit, Slice, SliceListing


class Watch:
    """A listing that is asked again and again. Listing 100,000 slices takes half a second of CPU.

    All of a directory is listed again only after twenty times as long as that took: for slices that are written to
    after they were taken, which is an error. Until then nothing is listed where no name was added or removed, and else
    names that are new are listed alone.
    """

    REST = 20
    SETTLED_NS = 2_000_000_000
    """File systems' times are up to two seconds coarse: a name added after a listing may have left the same time."""

    TICK_NS = 20_000_000
    """Local file systems stamp changes by the kernel's tick, of at most ten milliseconds."""

    def __init__(self, listing: SliceListing) -> None:
        self._listing = listing
        self._modified: int | None = None
        self._until = 0.0
        self._known = NOTHING_KNOWN

    def slices(self, ends: Mapping[str, int] = NOTHING_TAKEN, limit: Limit = ALL) -> list[Slice] | None:
        """Return the slices that are there now, see `SliceListing`; None where they are those of the last time."""
        begun, modified = time.monotonic(), self._listing.modified()
        if modified is not None and modified == self._modified and begun < self._until:
            return None
        settled = modified is not None and time.time_ns() - modified > self.SETTLED_NS
        known = self._known if modified is not None and begun < self._until else NOTHING_KNOWN
        slices = self._listed(modified, ends, limit._replace(known=known))
        self._modified = modified if settled else None
        if modified is not None:
            self._known = {one.path: one for one in slices}
        if known is NOTHING_KNOWN:
            self._until = begun + self.REST * (time.monotonic() - begun)
        return slices

    def _listed(self, modified: int | None, ends: Mapping[str, int], limit: Limit) -> list[Slice]:
        """Return the slices that are there now, in order, without a gap among those that came during the listing.

        POSIX leaves open whether readdir returns a name that is added meanwhile: of two, it may return the later one
        only. So a directory that was changed is listed once more, up to the last file that was found before.
        """
        slices, now = self._listing.slices(ends, limit), self._listing.modified()
        if now is None or not slices or (now == modified and time.time_ns() - now > self.TICK_NS):
            return slices
        again = self._listing.slices(ends, limit._replace(known={one.path: one for one in slices}))
        last = next((at for at, one in enumerate(again) if one.path == slices[-1].path), -1)
        return again[: last + 1]
