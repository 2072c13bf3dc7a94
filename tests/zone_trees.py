"""Directories of zone files for TZPATH, which replace zones of the package `tzdata`."""

import shutil
import zoneinfo
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from calendars.ics.timezones import offsets_in, render_vtimezone
from calendars.models import compile_series
from recurrence import zone_data
from recurrence.wire import zone_names
from triggers.models import compiled

REPLACED = ("Europe/Vaduz", "Europe/Monaco")  # no other test uses these zones, so no module has kept one of them


@dataclass(frozen=True)
class Tree:
    """A directory that has the replaced zones only; `zoneinfo` takes the others from the package."""

    path: Path

    def replace(self, name: str, other: str) -> None:
        """Give the zone `name`, one of REPLACED or a new one, the rules of `other`."""
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        with as_file(files("tzdata.zoneinfo").joinpath(*other.split("/"))) as source:
            shutil.copyfile(source, self.path / name)


def make_tree(path: Path, version: str, zones: dict[str, str] | None = None) -> Tree:
    """Create the directory `path` with data of the version `version`, in which zones have the rules of others."""
    path.mkdir()
    (path / "tzdata.zi").write_text(f"# version {version}\n")
    tree = Tree(path)
    for name, other in (zones or {}).items():
        tree.replace(name, other)
    return tree


def use_zones(*directories: Path) -> zone_data.ZoneData:
    """Let this process use the zones of these directories, as if it had started with them; return their data."""
    zoneinfo.reset_tzpath([str(each) for each in directories])
    forget_zones()
    return zone_data.current()


def use_zones_of_machine() -> None:
    zoneinfo.reset_tzpath()
    forget_zones()


def forget_zones() -> None:
    zoneinfo.ZoneInfo.clear_cache(only_keys=REPLACED)
    for cached in (zone_data.current, zone_names._names, compiled, compile_series, render_vtimezone, offsets_in):
        cached.cache_clear()
