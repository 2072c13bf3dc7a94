"""The groups of triggers, each the queue of its runs, and which of them nobody serves."""

from collections.abc import Collection

from django.db import connection

from triggers.models import GROUP

MOST = 100  # groups that are looked for

# From one group to the next by the index `trigger_group`: it costs what the groups are, not what the triggers are.
NEXT = f"""SELECT MIN("group") FROM triggers_trigger WHERE next_fire_at IS NOT NULL AND NOT "group" = '{GROUP}'"""
COMING = f"""
    WITH RECURSIVE found(name) AS (
        {NEXT} UNION ALL SELECT ({NEXT} AND "group" > found.name) FROM found WHERE found.name IS NOT NULL
    )
    SELECT name FROM found WHERE name IS NOT NULL LIMIT {MOST}"""


def coming_groups() -> set[str]:
    """The groups of triggers that will fire, and the one that runs ordered by hand go to."""
    with connection.cursor() as cursor:
        cursor.execute(COMING)
        return {GROUP, *(name for (name,) in cursor.fetchall())}


def not_served(group: str, served: Collection[str]) -> str:
    """What to say of a group that is not among those served; else nothing."""
    return "" if group in served else f"nobody serves {group}: its runs wait"
