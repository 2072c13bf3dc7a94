"""Run a command at another time of day: `python -m tests.clock 2028-02-29T23:58Z pytest ...`.

The time of day starts at the given instant and runs on from there, in the command and in all its children: the tests,
their browser, their servers.  The library clock.c is preloaded for this, which works on Linux.  libfaketime 0.9.10 does
not work here: it also changes waits, so `time.sleep` fails and the browser hangs.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from math import ceil
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")
COMPILER = shutil.which("cc")


def main(arguments: list[str]) -> int:
    if len(arguments) < 2:
        print("usage: python -m tests.clock INSTANT COMMAND [ARGUMENT...]", file=sys.stderr)
        return 2
    if COMPILER is None:
        print("another time of day needs a C compiler named cc", file=sys.stderr)
        return 2
    start, command = datetime.fromisoformat(arguments[0]), arguments[1:]
    with tempfile.TemporaryDirectory(prefix="quando-clock-") as folder:
        ahead_s = ceil((start - datetime.now(UTC)).total_seconds())
        return subprocess.call(command, env=os.environ | clock_ahead(ahead_s, Path(folder)))


def clock_ahead(seconds: int, folder: Path) -> dict[str, str]:
    """Return the environment variables that put the time of day of a process `seconds` ahead of this process."""
    assert COMPILER is not None, "another time of day needs a C compiler named cc"
    library = folder / "clock.so"
    subprocess.run([COMPILER, "-O2", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_OFFSET_S": str(int(os.environ.get("CLOCK_OFFSET_S", 0)) + seconds)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
