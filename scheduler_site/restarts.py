"""Processes that the launcher has started again, in a file of DATA_DIR, so that the home page can show them."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

FILE_NAME = "restarts.json"
SHOWN_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Restart:
    """How often a process was started again since the launcher started, and the newest time of it.

    `exit_code` is the one with which the process ended before; a negative one is the number of a signal.
    """

    name: str
    count: int
    exit_code: int
    at: datetime

    @property
    def cause(self) -> str:
        return f"signal {-self.exit_code}" if self.exit_code < 0 else f"exit code {self.exit_code}"


class RestartLog:
    """The restarts of one launcher.  A new one begins with an empty file."""

    def __init__(self, folder: Path):
        self.path = folder / FILE_NAME
        self.restarts: dict[str, Restart] = {}
        self.path.unlink(missing_ok=True)

    def add(self, name: str, exit_code: int, at: datetime) -> None:
        """Record a restart.  A file that cannot be written is left as it is: the restart matters more."""
        count = self.restarts[name].count + 1 if name in self.restarts else 1
        self.restarts[name] = Restart(name, count, exit_code, at)
        entries = [asdict(each) | {"at": each.at.isoformat()} for each in self.restarts.values()]
        new = self.path.with_suffix(".new")
        with suppress(OSError):
            new.write_text(json.dumps(entries))
            new.replace(self.path)


def recent_restarts(folder: Path, now: datetime) -> Sequence[Restart]:
    """Return the restarts of the last SHOWN_FOR, newest first; none if no launcher started this installation."""
    try:
        entries: list[dict[str, Any]] = json.loads((folder / FILE_NAME).read_text())
    except (OSError, ValueError):
        return []
    restarts = [Restart(**{**each, "at": datetime.fromisoformat(each["at"])}) for each in entries]
    shown = [each for each in restarts if each.at >= now - SHOWN_FOR]
    return sorted(shown, key=lambda each: each.at, reverse=True)
