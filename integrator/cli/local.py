"""What the commands ask of this machine."""

from __future__ import annotations

import os
import time
from pathlib import Path


def local_timezone() -> str:
    """Return the IANA name of this machine's time zone: what %[localtime] means."""
    name = os.environ.get("TZ", "").lstrip(":")
    if name:
        return name
    link = Path("/etc/localtime")
    target = str(link.resolve()) if link.exists() else ""
    return target.partition("zoneinfo/")[2] or time.tzname[0] or "UTC"
