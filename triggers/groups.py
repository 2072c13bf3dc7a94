"""The groups of triggers, and which of them no worker serves.  The runs of a group go to the queue of that name."""

from collections.abc import Collection

from django.db import connection

from triggers.models import GROUP

MOST = 100  # groups in one answer

# Go from one group to the next by the index `trigger_group`: the cost grows with the groups, not with the triggers.
NEXT = f"""SELECT MIN("group") FROM triggers_trigger WHERE next_fire_at IS NOT NULL AND NOT "group" = '{GROUP}'"""
COMING = f"""
    WITH RECURSIVE found(name) AS (
        {NEXT} UNION ALL SELECT ({NEXT} AND "group" > found.name) FROM found WHERE found.name IS NOT NULL
    )
    SELECT name FROM found WHERE name IS NOT NULL LIMIT {MOST}"""


def groups_with_due_runs() -> set[str]:
    """Return the groups of triggers that will fire, and the group of the runs that people start by hand."""
    with connection.cursor() as cursor:
        cursor.execute(COMING)
        return {GROUP, *(name for (name,) in cursor.fetchall())}


def unserved_groups(group: str, served: Collection[str]) -> str:
    """Return a warning when `group` is not in `served`; else an empty text."""
    return "" if group in served else f"nobody serves {group}: its runs wait"
