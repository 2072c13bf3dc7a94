"""Who else sees a calendar: people with whom its owner shares a subscription, as readers or as operators."""

from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from accounts.models import Role
from calendars.errors import CalendarError
from calendars.models import Calendar, Share

ROLES = (Role.READER, Role.OPERATOR)


def people_to_share_with(user) -> QuerySet:
    """Those who are in a subscription with `user`, by name."""
    people = get_user_model().objects.filter(is_active=True, membership__subscription__membership__user=user)
    return people.exclude(pk=user.pk).order_by("username").distinct()


def share(calendar: Calendar, user, role: int) -> Share:
    """Let `user` see the calendar, as an operator also change its events; a second call changes the role."""
    if role not in ROLES:
        raise CalendarError("must be reader or operator", path="role", code="unknown_value")
    if not people_to_share_with(calendar.owner).filter(pk=user.pk).exists():
        raise CalendarError("must be somebody who is in a subscription with the owner", path="user")
    return Share.objects.update_or_create(calendar=calendar, user=user, defaults={"role": role})[0]


def unshare(calendar: Calendar, user) -> None:
    calendar.shares.filter(user=user).delete()
