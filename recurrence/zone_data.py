"""The time zone data of this process: its version, and a digest of each zone.

The files are those that `zoneinfo` uses: the directories in TZPATH come first, then the package `tzdata`.
"""

import hashlib
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path

from recurrence.wire.zone_names import NO_ZONES, UTC_NAMES

UNKNOWN = "unknown"
DIGEST_LENGTH = 16  # characters: 64 bits, so that equal digests of different files do not happen
VERSION_LINE = "# version "  # at the beginning of the file tzdata.zi


@dataclass(frozen=True, slots=True)
class ZoneData:
    """The version of time zone data, such as "2025b", and the digest of each zone except UTC, by name."""

    label: str
    digests: Mapping[str, str]

    def changed_since(self, digests: Mapping[str, str]) -> list[str]:
        """Return the names of the zones that are new or have another digest than in `digests`, in order."""
        return sorted(name for name, digest in self.digests.items() if digests.get(name) != digest)


@cache
def current() -> ZoneData:
    """Return the time zone data of this process.

    The files are read once, because a process keeps its zones until it ends.  A process that depends on the answer must
    therefore call this function when it starts.
    """
    names = zoneinfo.available_timezones() - UTC_NAMES - NO_ZONES
    return ZoneData(_label(), {name: _digest(name) for name in sorted(names)})


def _label() -> str:
    """Return the version that the files state; UNKNOWN if they do not state it."""
    directory = next((each for each in map(Path, zoneinfo.TZPATH) if each.is_dir()), None)
    if directory is None:
        return str(import_module("tzdata").IANA_VERSION)
    try:
        with (directory / "tzdata.zi").open(encoding="ascii", errors="replace") as lines:
            first = lines.readline().strip()
    except OSError:
        return UNKNOWN
    return first.removeprefix(VERSION_LINE)[:32] if first.startswith(VERSION_LINE) else UNKNOWN


def _digest(name: str) -> str:
    paths = (Path(directory, name) for directory in zoneinfo.TZPATH)
    path = next(filter(Path.is_file, paths), None) or files("tzdata.zoneinfo").joinpath(*name.split("/"))
    return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGEST_LENGTH]
