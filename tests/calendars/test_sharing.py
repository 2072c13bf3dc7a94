"""Permissions to see and change a shared calendar."""

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404

from accounts.access import require_role, visible_rows
from accounts.models import Membership, Role, Subscription, User
from calendars import sharing
from calendars.errors import CalendarError
from calendars.models import Calendar, Event, Share


class Request:
    """The attributes of a request that `accounts.access` reads."""

    def __init__(self, user):
        self.user, self.auth = user, None


@pytest.fixture
def other_subscription(db):
    return Subscription.objects.create(name="elsewhere")


def test_calendar_can_be_shared_with_members_of_a_common_subscription(owner, make_user, other_subscription):
    reader = make_user("reader", Role.READER)
    make_user("stranger", in_subscription=other_subscription)
    make_user("nobody", role=None)
    make_user("former", is_active=False)
    both = make_user("both")
    Membership.objects.create(subscription=other_subscription, user=both)
    Membership.objects.create(subscription=other_subscription, user=owner)

    assert [user.username for user in sharing.people_to_share_with(owner)] == ["both", "reader", "stranger"]
    assert list(sharing.people_to_share_with(reader)) == list(User.objects.filter(username__in=["ada", "both"]))


@pytest.mark.parametrize("role", sharing.ROLES)
def test_calendar_can_be_shared_with_a_reader_or_operator(calendar, make_user, role):
    user = make_user("grace")

    sharing.share(calendar, user, role)

    assert [each.role for each in calendar.shares.all()] == [role]


def test_a_second_share_changes_the_role(calendar, make_user):
    user = make_user("grace")
    sharing.share(calendar, user, Role.OPERATOR)

    sharing.share(calendar, user, Role.READER)

    assert calendar.shares.get().role == Role.READER


@pytest.mark.parametrize("role", [Role.OWNER, 0, 9])
def test_share_with_an_invalid_role_is_refused(calendar, make_user, role):
    with pytest.raises(CalendarError) as refused:
        sharing.share(calendar, make_user("grace"), role)

    assert refused.value.path == "role"
    assert not Share.objects.exists()


def test_share_without_a_common_subscription_is_refused(calendar, make_user, other_subscription):
    for user in (
        make_user("stranger", in_subscription=other_subscription),
        make_user("nobody", role=None),
        calendar.owner,
    ):
        with pytest.raises(CalendarError) as refused:
            sharing.share(calendar, user, Role.READER)
        assert refused.value.path == "user"

    assert not Share.objects.exists()


# (role of the share, required role) -> result
SEEN = [
    (Role.READER, Role.READER, "seen"),
    (Role.READER, Role.OPERATOR, "forbidden"),
    (Role.OPERATOR, Role.OPERATOR, "seen"),
    (Role.OPERATOR, Role.OWNER, "forbidden"),
    (None, Role.READER, "not there"),
    (None, Role.OPERATOR, "not there"),
]


@pytest.mark.parametrize("model", [Calendar, Event])
@pytest.mark.parametrize("role, required, outcome", SEEN)
def test_share_gives_access_to_a_calendar_and_its_events(calendar, weekly, make_user, model, role, required, outcome):
    user = make_user("grace")
    if role is not None:
        sharing.share(calendar, user, role)
    row = calendar if model is Calendar else weekly

    if outcome == "seen":
        assert require_role(Request(user), model, required, pk=row.pk) == row
    else:
        with pytest.raises(PermissionDenied if outcome == "forbidden" else Http404):
            require_role(Request(user), model, required, pk=row.pk)


@pytest.mark.parametrize("model", [Calendar, Event])
def test_the_owner_has_every_role(calendar, weekly, model):
    row = calendar if model is Calendar else weekly

    for role in Role:
        assert list(visible_rows(Request(calendar.owner), model, role)) == [row]


def test_subscription_owner_does_not_see_calendars_of_members(weekly, make_user):
    other = make_user("grace", Role.OWNER, is_staff=True, is_superuser=True)

    assert not visible_rows(Request(other), Event).exists()


def test_removed_share_removes_access(calendar, weekly, make_user):
    user = make_user("grace")
    sharing.share(calendar, user, Role.OPERATOR)

    sharing.unshare(calendar, user)

    assert not visible_rows(Request(user), Event).exists()
    assert list(visible_rows(Request(user), Calendar)) == [user.calendars.get()]


def test_former_member_loses_access_to_shared_calendars(calendar, weekly, make_user):
    user = make_user("grace")
    sharing.share(calendar, user, Role.OPERATOR)

    Membership.objects.filter(user=user).delete()

    assert not visible_rows(Request(user), Event).exists()


def test_calendar_is_listed_once_with_two_common_subscriptions(owner, calendar, make_user, other_subscription):
    user = make_user("grace")
    for each in (owner, user):
        Membership.objects.create(subscription=other_subscription, user=each)
    sharing.share(calendar, user, Role.READER)

    assert Calendar.objects.visible_to(user).count() == 2
    assert Calendar.objects.visible_to(user).filter(pk=calendar.pk).order_by("name").count() == 1
