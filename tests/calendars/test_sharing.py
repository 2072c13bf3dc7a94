"""Who sees a calendar, and who changes what is in it."""

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404

from accounts.access import require_role, visible_rows
from accounts.models import Membership, Role, Subscription, User
from calendars import sharing
from calendars.errors import CalendarError
from calendars.models import Calendar, Event, Share


class Request:
    """What `accounts.access` looks at."""

    def __init__(self, user):
        self.user, self.auth = user, None


@pytest.fixture
def elsewhere(db):
    return Subscription.objects.create(name="elsewhere")


def test_people_of_a_common_subscription_can_be_shared_with(owner, make_user, elsewhere):
    reader = make_user("reader", Role.READER)
    make_user("stranger", in_subscription=elsewhere)
    make_user("nobody", role=None)
    make_user("former", is_active=False)
    both = make_user("both")
    Membership.objects.create(subscription=elsewhere, user=both)
    Membership.objects.create(subscription=elsewhere, user=owner)

    assert [user.username for user in sharing.people_to_share_with(owner)] == ["both", "reader", "stranger"]
    assert list(sharing.people_to_share_with(reader)) == list(User.objects.filter(username__in=["ada", "both"]))


@pytest.mark.parametrize("role", sharing.ROLES)
def test_a_calendar_is_shared_as_a_reader_or_as_an_operator(calendar, make_user, role):
    user = make_user("grace")

    sharing.share(calendar, user, role)

    assert [each.role for each in calendar.shares.all()] == [role]


def test_a_second_share_changes_the_role(calendar, make_user):
    user = make_user("grace")
    sharing.share(calendar, user, Role.OPERATOR)

    sharing.share(calendar, user, Role.READER)

    assert calendar.shares.get().role == Role.READER


@pytest.mark.parametrize("role", [Role.OWNER, 0, 9])
def test_nobody_is_made_the_owner(calendar, make_user, role):
    with pytest.raises(CalendarError) as refused:
        sharing.share(calendar, make_user("grace"), role)

    assert refused.value.path == "role"
    assert not Share.objects.exists()


def test_strangers_are_not_shared_with(calendar, make_user, elsewhere):
    for user in (make_user("stranger", in_subscription=elsewhere), make_user("nobody", role=None), calendar.owner):
        with pytest.raises(CalendarError) as refused:
            sharing.share(calendar, user, Role.READER)
        assert refused.value.path == "user"

    assert not Share.objects.exists()


# (role of the share, the least role that is asked for) -> what comes of it
SEEN = [
    (Role.READER, Role.READER, "seen"),
    (Role.READER, Role.OPERATOR, "forbidden"),
    (Role.OPERATOR, Role.OPERATOR, "seen"),
    (Role.OPERATOR, Role.OWNER, "forbidden"),
    (None, Role.READER, "not there"),
    (None, Role.OPERATOR, "not there"),
]


@pytest.mark.parametrize("model", [Calendar, Event])
@pytest.mark.parametrize("role, asked, outcome", SEEN)
def test_a_share_opens_a_calendar_and_what_is_in_it(calendar, weekly, make_user, model, role, asked, outcome):
    user = make_user("grace")
    if role is not None:
        sharing.share(calendar, user, role)
    row = calendar if model is Calendar else weekly

    if outcome == "seen":
        assert require_role(Request(user), model, asked, pk=row.pk) == row
    else:
        with pytest.raises(PermissionDenied if outcome == "forbidden" else Http404):
            require_role(Request(user), model, asked, pk=row.pk)


@pytest.mark.parametrize("model", [Calendar, Event])
def test_the_owner_has_every_role(calendar, weekly, model):
    row = calendar if model is Calendar else weekly

    for role in Role:
        assert list(visible_rows(Request(calendar.owner), model, role)) == [row]


def test_owners_of_a_subscription_do_not_see_its_peoples_calendars(weekly, make_user):
    other = make_user("grace", Role.OWNER, is_staff=True, is_superuser=True)

    assert not visible_rows(Request(other), Event).exists()


def test_a_calendar_is_unshared(calendar, weekly, make_user):
    user = make_user("grace")
    sharing.share(calendar, user, Role.OPERATOR)

    sharing.unshare(calendar, user)

    assert not visible_rows(Request(user), Event).exists()
    assert list(visible_rows(Request(user), Calendar)) == [user.calendars.get()]


def test_who_leaves_the_subscription_sees_no_more(calendar, weekly, make_user):
    user = make_user("grace")
    sharing.share(calendar, user, Role.OPERATOR)

    Membership.objects.filter(user=user).delete()

    assert not visible_rows(Request(user), Event).exists()


def test_two_common_subscriptions_show_a_calendar_once(owner, calendar, make_user, elsewhere):
    user = make_user("grace")
    for each in (owner, user):
        Membership.objects.create(subscription=elsewhere, user=each)
    sharing.share(calendar, user, Role.READER)

    assert Calendar.objects.visible_to(user).count() == 2
    assert Calendar.objects.visible_to(user).filter(pk=calendar.pk).order_by("name").count() == 1
