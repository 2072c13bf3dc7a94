"""The flag that says whether this process has been asked to stop.

Signal handlers set the flag.  They take no lock and write nothing.  The reason: a second signal can interrupt a handler
at any point, and its handler would then wait for a lock that only the interrupted handler releases.
"""

_is_requested = False


def request(*_) -> None:
    """Ask this process to stop.  Can be used as a signal handler."""
    global _is_requested
    _is_requested = True


def is_requested() -> bool:
    return _is_requested
