"""Definitions of schedules as they are stored."""

from collections.abc import Mapping
from typing import Any

from recurrence import wire


def kept(format: str, definition: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored of a definition: known members in their canonical spelling, but an expression as it was written.

    Of an unknown format it is all of it, for whoever refuses that.  Raises WireError.
    """
    if format not in wire.RENDERERS:
        return dict(definition)
    rendered = wire.render(format, definition)
    return {name: definition[name] if name == "expression" else value for name, value in rendered.items()}
