"""DATA_DIR, the folder for all files of the embedded default.  Only its owner may read it."""

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

OWN_FILES = ("quando.sqlite3*", "secret_key", "encryption_key", "lock", "broker", "broker/**/*")
OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def protect(folder: Path) -> None:
    """Create the folder, or remove the permissions of others from it and from Quando's files in it.

    A removal is reported on stderr.  Raises ImproperlyConfigured for a folder that others can write to, such as /tmp,
    and for a folder of another user that others can read.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_mode & stat.S_IWOTH:
        raise ImproperlyConfigured(f"DATA_DIR {folder} can be written by others: choose a folder of Quando's own")
    is_own = found.st_uid == os.geteuid()
    if not is_own and found.st_mode & stat.S_IRWXO:
        raise ImproperlyConfigured(f"DATA_DIR {folder} can be read by others, and is another user's: chmod o= {folder}")
    paths = [folder] * is_own + [path for pattern in OWN_FILES for path in folder.glob(pattern)]
    corrected = [path for path in paths if take_from_others(path)]
    if corrected:
        print(f"quando: DATA_DIR {folder} could be read by others; now only its owner can", file=sys.stderr)


def take_from_others(path: Path) -> bool:
    """Remove the permissions of others from a file; return True if there were any.

    Return False for a symbolic link, a file of another user, and a file that no longer exists.
    """
    with suppress(FileNotFoundError):  # the broker and SQLite remove files while others start
        found = path.lstat()
        if found.st_mode & OF_OTHERS and not stat.S_ISLNK(found.st_mode) and found.st_uid == os.geteuid():
            path.chmod(stat.S_IMODE(found.st_mode) & ~OF_OTHERS)
            return True
    return False
