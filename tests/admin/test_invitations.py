"""An owner invites by exact name or address, and is never shown people of other subscriptions."""

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from accounts import invitations
from accounts.models import ApiToken, Invitation, Membership, Role, Subscription, User


@pytest.fixture
def boss(make_user):
    """An owner who is staff, and no superuser."""
    return make_user("boss", Role.OWNER, is_staff=True)


@pytest.fixture
def stranger(make_user, elsewhere):
    return make_user("zoltan", in_subscription=elsewhere.subscription, email="zoltan@example.com", first_name="Zoltán")


@pytest.fixture
def of_boss(browser_of, boss):
    return browser_of(boss)


def page_of(subscription: Subscription) -> str:
    return f"/admin/accounts/subscription/{subscription.pk}/change/"


def invitations_of(subscription: Subscription) -> str:
    return f"/admin/accounts/subscription/{subscription.pk}/invitations/"


def member_form(subscription, *rows: dict) -> dict:
    """The form of a subscription with its members as the page sends it; a row without an id is a new one."""
    known = sum("id" in row for row in rows)
    form = {
        "name": subscription.name,
        "membership_set-TOTAL_FORMS": len(rows),
        "membership_set-INITIAL_FORMS": known,
    }
    for number, row in enumerate(rows):
        fields = {"subscription": subscription.pk, **row}
        form |= {f"membership_set-{number}-{name}": value for name, value in fields.items()}
    return form


# Nobody is offered people of other subscriptions


def test_no_page_shows_an_owner_people_of_other_subscriptions(of_boss, boss, subscription, make_job, stranger):
    make_job()
    addresses = [
        page_of(subscription),
        invitations_of(subscription),
        f"/admin/accounts/subscription/{subscription.pk}/history/",
        *(f"/admin/{place}/" for place in ("accounts/subscription", "accounts/apitoken", "jobs/job", "jobs/run")),
        *(f"/admin/{place}/" for place in ("jobs/jobcollection", "triggers/trigger", "operations/operation")),
        "/admin/",
        "/admin/accounts/apitoken/add/",
        "/account/",
        "/account/subscriptions/",
        "/account/tokens/",
        f"/calendar/calendars/{boss.calendars.get().pk}/edit",
        "/calendar/",
        "/maintenance/",
    ]

    answers = {address: of_boss.get(address) for address in addresses}

    assert {address: answer.status_code for address, answer in answers.items() if answer.status_code != 200} == {}
    assert [address for address, answer in answers.items() if "zolt" in answer.text.lower()] == []


@pytest.mark.parametrize(
    "address",
    [
        "/admin/accounts/user/",
        "/admin/accounts/user/add/",
        "/admin/accounts/user/{}/change/",
        "/admin/accounts/user/{}/password/",
        "/admin/accounts/user/{}/delete/",
        "/admin/accounts/user/{}/history/",
        "/admin/autocomplete/?term=zol&app_label=accounts&model_name=membership&field_name=user",
        "/admin/autocomplete/?term=zol&app_label=accounts&model_name=invitation&field_name=user",
        "/admin/autocomplete/?term=zol&app_label=accounts&model_name=apitoken&field_name=user",
    ],
)
def test_the_list_of_users_is_for_superusers(of_boss, stranger, address):
    assert of_boss.get(address.format(stranger.pk)).status_code == 403


def test_no_interface_knows_people_of_other_subscriptions(api_of, boss, stranger):
    api = api_of(ApiToken.objects.issue(boss, "ci")[1])

    refusals = []
    for name in (stranger.username, "nobody"):
        share = {"shares": [{"user": name, "role": "reader"}]}
        calendar = api.patch(f"/api/calendars/{boss.calendars.get().pk}", share)
        graph = [api.get(f"/v1.0/users/{each}") for each in (name, f"{name}@example.com")]
        refusals.append(
            (calendar.status_code, calendar.content.replace(name.encode(), b"X"), [g.status_code for g in graph])
        )

    assert refusals[0] == refusals[1]
    assert refusals[0][0] == 400
    assert refusals[0][2] == [404, 404]


@pytest.mark.parametrize(
    "look_up",
    ["members__username__startswith=b", "membership__user__email=x", "members__password__startswith=p", "q=zoltan"],
)
def test_lists_are_not_filtered_by_what_users_have(of_boss, stranger, look_up):
    page = of_boss.get(f"/admin/accounts/subscription/?{look_up}", follow=True)

    assert page.status_code == 400 or "zoltan" not in page.text.replace('value="zoltan"', "")


# What an owner does with members


def test_an_owner_adds_nobody_without_their_consent(of_boss, boss, subscription, stranger):
    membership = Membership.objects.get(user=boss)
    own = {"id": membership.pk, "user": boss.pk, "role": Role.OWNER}

    page = of_boss.get(page_of(subscription)).text
    of_boss.post(page_of(subscription), member_form(subscription, own, {"user": stranger.pk, "role": Role.READER}))

    assert "membership_set-1-" not in page
    assert "membership_set-0-user" not in page
    assert [each.user for each in subscription.membership_set.all()] == [boss]


def test_an_owner_gives_no_membership_to_somebody_else(of_boss, operator, subscription, stranger):
    membership = Membership.objects.get(user=operator)
    row = {"id": membership.pk, "user": stranger.pk, "role": Role.READER}

    of_boss.post(page_of(subscription), member_form(subscription, row))

    membership.refresh_from_db()
    assert (membership.user, membership.role) == (operator, Role.READER)


def test_an_owner_removes_a_member(of_boss, operator, subscription):
    membership = Membership.objects.get(user=operator)

    of_boss.post(page_of(subscription), member_form(subscription, {"id": membership.pk, "role": 1, "DELETE": "on"}))

    assert not Membership.objects.filter(pk=membership.pk).exists()


def test_a_superuser_adds_somebody_directly(browser, subscription, stranger):
    browser.post(page_of(subscription), member_form(subscription, {"user": stranger.pk, "role": Role.OPERATOR}))

    assert subscription.membership_set.get(user=stranger).role == Role.OPERATOR


def test_who_is_added_directly_goes_on_writing_where_they_wrote(browser, subscription, stranger, elsewhere):
    browser.post(page_of(subscription), member_form(subscription, {"user": stranger.pk, "role": Role.OPERATOR}))

    stranger.refresh_from_db()
    assert stranger.default_subscription == elsewhere.subscription


def test_whose_role_is_raised_goes_on_writing_where_they_wrote(of_boss, stranger, subscription, elsewhere):
    membership = Membership.objects.create(subscription=subscription, user=stranger, role=Role.READER)

    of_boss.post(page_of(subscription), member_form(subscription, {"id": membership.pk, "role": Role.OPERATOR}))

    stranger.refresh_from_db()
    membership.refresh_from_db()
    assert membership.role == Role.OPERATOR
    assert stranger.default_subscription == elsewhere.subscription


# Invitations


def invite(browser, subscription, addressee, role=Role.READER, **options):
    return browser.post(invitations_of(subscription), {"addressee": addressee, "role": role}, **options)


def shown(page, addressee: str) -> str:
    """The page, without what differs between any two requests and without what was typed."""
    lines = page.text.replace(addressee, "X").splitlines()
    return "\n".join(line for line in lines if "csrf" not in line and "<time" not in line and "withdraw" not in line)


@pytest.mark.parametrize("addressee", ["zoltan", "zoltan@example.com"])
def test_an_owner_does_not_learn_whether_there_is_such_a_person(of_boss, subscription, stranger, addressee):
    nobody = addressee.replace("zoltan", "zebedi")

    pages = []
    for each in (addressee, nobody):
        page = invite(of_boss, subscription, each, follow=True)
        pages.append((page.redirect_chain, page.status_code, shown(page, each)))
        Invitation.objects.all().update(
            subscription=Subscription.objects.create(name=each.replace("@", "-").replace(".", "-"))
        )

    assert pages[0] == pages[1]
    assert list(Invitation.objects.order_by("pk").values_list("user", flat=True)) == [stranger.pk, None]


def test_an_open_invitation_shows_what_was_typed_and_is_withdrawn(of_boss, subscription, stranger):
    invite(of_boss, subscription, "zoltan@example.com", Role.OPERATOR)
    invitation = Invitation.objects.get()

    page = of_boss.get(invitations_of(subscription)).text
    of_boss.post(invitations_of(subscription), {"withdraw": invitation.pk})

    assert "zoltan@example.com" in page
    assert "Zoltán" not in page
    assert not Invitation.objects.exists()
    messages = [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]
    assert messages == ["Invited zoltan@example.com as operator.", "Withdrew the invitation of zoltan@example.com."]


@pytest.mark.parametrize(
    "fields, wrong",
    [
        ({"addressee": ""}, "addressee"),
        ({"addressee": "x" * 255}, "addressee"),
        ({"addressee": "a\x00b"}, "addressee"),
        ({"addressee": "boss"}, "addressee"),  # a member already
        ({"addressee": "x", "role": "4"}, "role"),
        ({"addressee": "x", "role": "owner"}, "role"),
        ({"addressee": "x", "role": ""}, "role"),
    ],
)
def test_an_invitation_that_cannot_be_is_refused_at_its_field(of_boss, subscription, fields, wrong):
    answer = of_boss.post(invitations_of(subscription), {"role": "1"} | fields)

    assert list(answer.context["form"].errors) == [wrong]
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("key", ["", "x", "-1", "1" * 30, "²", "\x00"])
def test_withdrawing_what_is_not_there_changes_nothing(of_boss, subscription, key):
    invite(of_boss, subscription, "zoltan")

    assert of_boss.post(invitations_of(subscription), {"withdraw": key}).status_code == 302
    assert Invitation.objects.count() == 1


def test_invitations_are_for_owners(browser_of, operator, reader, subscription):
    for member in (operator, reader):
        browser = browser_of(member)
        assert browser.get(invitations_of(subscription)).status_code == 403
        assert invite(browser, subscription, "zoltan").status_code == 403
        assert "invitations/" not in browser.get(page_of(subscription)).text
    assert not Invitation.objects.exists()


def test_invitations_of_others_look_like_none(of_boss, owner, elsewhere):
    theirs = invitations.invite(elsewhere.subscription, "zoltan", Role.READER, owner, timezone.now())

    assert of_boss.get(invitations_of(elsewhere.subscription)).status_code == 404
    assert invite(of_boss, elsewhere.subscription, "eve").status_code == 404
    assert of_boss.post(invitations_of(elsewhere.subscription), {"withdraw": theirs.pk}).status_code == 404
    assert Invitation.objects.get() == theirs


def test_an_invitation_of_another_subscription_is_not_withdrawn(of_boss, owner, subscription, elsewhere):
    theirs = invitations.invite(elsewhere.subscription, "zoltan", Role.READER, owner, timezone.now())

    of_boss.post(invitations_of(subscription), {"withdraw": theirs.pk})

    assert Invitation.objects.get() == theirs


def test_superusers_list_users(browser, stranger):
    assert stranger.username in browser.get("/admin/accounts/user/").text
    assert User.objects.count() == 2
