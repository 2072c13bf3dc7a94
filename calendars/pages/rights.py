"""Whose jobs a viewer sees on the calendar, with all that belongs to them."""


def seen_by(user, rows):
    """Of jobs, their collections, triggers and runs those that the calendar shows: superusers see all of them."""
    return rows.all() if user.is_superuser else rows.visible_to(user)
