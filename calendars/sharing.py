"""Share a calendar with people of a common subscription, as readers or as operators."""

from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from accounts.models import Role
from calendars.errors import CalendarError
from calendars.models import Calendar, Share

ROLES = (Role.READER, Role.OPERATOR)


def people_to_share_with(user) -> QuerySet:
    """Return the active people in a subscription of `user`, without `user`, ordered by user name."""
    people = get_user_model().objects.filter(is_active=True, membership__subscription__membership__user=user)
    return people.exclude(pk=user.pk).order_by("username").distinct()


def share(calendar: Calendar, user, role: int) -> Share:
    """Share the calendar with `user`.  A reader sees it; an operator also changes its events.

    A second call changes the role.  Raises CalendarError.
    """
    if role not in ROLES:
        raise CalendarError("must be reader or operator", path="role", code="unknown_value")
    if not people_to_share_with(calendar.owner).filter(pk=user.pk).exists():
        raise CalendarError("must be somebody who is in a subscription with the owner", path="user")
    return Share.objects.update_or_create(calendar=calendar, user=user, defaults={"role": role})[0]


def unshare(calendar: Calendar, user) -> None:
    calendar.shares.filter(user=user).delete()
