"""Owners invite by exact user name or email, and never see users of other subscriptions."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from accounts import invitations
from accounts.models import ApiToken, Invitation, Membership, Role, Subscription, User


@pytest.fixture
def boss(make_user):
    """An owner who is staff and not a superuser."""
    return make_user("boss", Role.OWNER, is_staff=True)


@pytest.fixture
def stranger(make_user, collection_of_others):
    return make_user(
        "zoltan", in_subscription=collection_of_others.subscription, email="zoltan@example.com", first_name="Zoltán"
    )


@pytest.fixture
def owner_browser(sign_in_as, boss):
    return sign_in_as(boss)


def subscription_url(subscription: Subscription) -> str:
    return f"/admin/accounts/subscription/{subscription.pk}/change/"


def invitations_url(subscription: Subscription) -> str:
    return f"/admin/accounts/subscription/{subscription.pk}/invitations/"


def member_form(subscription, *rows: dict) -> dict:
    """Return the values of the form of a subscription with its members; a row without an id is a new member."""
    existing = sum("id" in row for row in rows)
    form = {
        "name": subscription.name,
        "membership_set-TOTAL_FORMS": len(rows),
        "membership_set-INITIAL_FORMS": existing,
    }
    for number, row in enumerate(rows):
        fields = {"subscription": subscription.pk, **row}
        form |= {f"membership_set-{number}-{name}": value for name, value in fields.items()}
    return form


# Users of other subscriptions are not shown


def test_pages_show_an_owner_no_users_of_other_subscriptions(owner_browser, boss, subscription, make_job, stranger):
    make_job()
    addresses = [
        subscription_url(subscription),
        invitations_url(subscription),
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

    responses = {address: owner_browser.get(address) for address in addresses}

    assert {
        address: response.status_code for address, response in responses.items() if response.status_code != 200
    } == {}
    names = re.compile("zoltan|zoltán", re.IGNORECASE)
    assert [address for address, response in responses.items() if names.search(response.text)] == []


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
def test_user_list_is_only_for_superusers(owner_browser, stranger, address):
    assert owner_browser.get(address.format(stranger.pk)).status_code == 403


def test_apis_do_not_reveal_users_of_other_subscriptions(api_of, boss, stranger):
    api = api_of(ApiToken.objects.issue(boss, "ci")[1])

    errors = []
    for name in (stranger.username, "nobody"):
        share = {"shares": [{"user": name, "role": "reader"}]}
        calendar = api.patch(f"/api/calendars/{boss.calendars.get().pk}", share)
        graph = [api.get(f"/v1.0/users/{each}") for each in (name, f"{name}@example.com")]
        errors.append(
            (calendar.status_code, calendar.content.replace(name.encode(), b"X"), [g.status_code for g in graph])
        )

    assert errors[0] == errors[1]
    assert errors[0][0] == 400
    assert errors[0][2] == [404, 404]


@pytest.mark.parametrize(
    "look_up",
    ["members__username__startswith=b", "membership__user__email=x", "members__password__startswith=p", "q=zoltan"],
)
def test_subscription_list_cannot_be_filtered_by_user_fields(owner_browser, stranger, look_up):
    page = owner_browser.get(f"/admin/accounts/subscription/?{look_up}", follow=True)

    assert page.status_code == 400 or "zoltan" not in page.text.replace('value="zoltan"', "")


# Members


def test_owner_cannot_add_a_member_directly(owner_browser, boss, subscription, stranger):
    membership = Membership.objects.get(user=boss)
    own = {"id": membership.pk, "user": boss.pk, "role": Role.OWNER}

    page = owner_browser.get(subscription_url(subscription)).text
    owner_browser.post(
        subscription_url(subscription), member_form(subscription, own, {"user": stranger.pk, "role": Role.READER})
    )

    assert "membership_set-1-" not in page
    assert "membership_set-0-user" not in page
    assert [each.user for each in subscription.membership_set.all()] == [boss]


def test_owner_cannot_change_the_user_of_a_membership(owner_browser, operator, subscription, stranger):
    membership = Membership.objects.get(user=operator)
    row = {"id": membership.pk, "user": stranger.pk, "role": Role.READER}

    owner_browser.post(subscription_url(subscription), member_form(subscription, row))

    membership.refresh_from_db()
    assert (membership.user, membership.role) == (operator, Role.READER)


def test_owner_can_remove_a_member(owner_browser, operator, subscription):
    membership = Membership.objects.get(user=operator)

    owner_browser.post(
        subscription_url(subscription), member_form(subscription, {"id": membership.pk, "role": 1, "DELETE": "on"})
    )

    assert not Membership.objects.filter(pk=membership.pk).exists()


def test_superuser_can_add_a_member_directly(browser, subscription, stranger):
    browser.post(
        subscription_url(subscription), member_form(subscription, {"user": stranger.pk, "role": Role.OPERATOR})
    )

    assert subscription.membership_set.get(user=stranger).role == Role.OPERATOR


def test_added_member_keeps_the_default_subscription(browser, subscription, stranger, collection_of_others):
    browser.post(
        subscription_url(subscription), member_form(subscription, {"user": stranger.pk, "role": Role.OPERATOR})
    )

    stranger.refresh_from_db()
    assert stranger.default_subscription == collection_of_others.subscription


def test_member_with_a_raised_role_keeps_the_default_subscription(
    owner_browser, stranger, subscription, collection_of_others
):
    membership = Membership.objects.create(subscription=subscription, user=stranger, role=Role.READER)

    owner_browser.post(
        subscription_url(subscription), member_form(subscription, {"id": membership.pk, "role": Role.OPERATOR})
    )

    stranger.refresh_from_db()
    membership.refresh_from_db()
    assert membership.role == Role.OPERATOR
    assert stranger.default_subscription == collection_of_others.subscription


# Invitations


def invite(browser, subscription, addressee, role=Role.READER, **options):
    return browser.post(invitations_url(subscription), {"addressee": addressee, "role": role}, **options)


def comparable_text(page, addressee: str) -> str:
    """Return the page without the typed text and without parts that differ in each request."""
    differing = ("csrf", "<time", "withdraw", "Rendered", "clock-strip")
    lines = page.text.replace(addressee, "X").splitlines()
    return "\n".join(line for line in lines if not any(text in line for text in differing))


@pytest.mark.parametrize("addressee", ["zoltan", "zoltan@example.com"])
def test_invitation_does_not_reveal_if_the_user_exists(owner_browser, subscription, stranger, addressee):
    unknown = addressee.replace("zoltan", "zebedi")

    pages = []
    for each in (addressee, unknown):
        page = invite(owner_browser, subscription, each, follow=True)
        pages.append((page.redirect_chain, page.status_code, comparable_text(page, each)))
        Invitation.objects.all().update(
            subscription=Subscription.objects.create(name=each.replace("@", "-").replace(".", "-"))
        )

    assert pages[0] == pages[1]
    assert list(Invitation.objects.order_by("pk").values_list("user", flat=True)) == [stranger.pk, None]


def test_invitation_shows_the_typed_text_and_can_be_withdrawn(owner_browser, subscription, stranger):
    invite(owner_browser, subscription, "zoltan@example.com", Role.OPERATOR)
    invitation = Invitation.objects.get()

    page = owner_browser.get(invitations_url(subscription)).text
    owner_browser.post(invitations_url(subscription), {"withdraw": invitation.pk})

    assert "zoltan@example.com" in page
    assert "Zoltán" not in page
    assert not Invitation.objects.exists()
    messages = [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]
    assert messages == ["Invited zoltan@example.com as operator.", "Withdrew the invitation of zoltan@example.com."]


@pytest.mark.parametrize(
    "fields, field",
    [
        ({"addressee": ""}, "addressee"),
        ({"addressee": "x" * 255}, "addressee"),
        ({"addressee": "a\x00b"}, "addressee"),
        ({"addressee": "boss"}, "addressee"),  # already a member
        ({"addressee": "x", "role": "4"}, "role"),
        ({"addressee": "x", "role": "owner"}, "role"),
        ({"addressee": "x", "role": ""}, "role"),
    ],
)
def test_error_of_an_invitation_is_shown_at_its_field(owner_browser, subscription, fields, field):
    response = owner_browser.post(invitations_url(subscription), {"role": "1"} | fields)

    assert list(response.context["form"].errors) == [field]
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("key", ["", "x", "-1", "1" * 30, "²", "\x00"])
def test_withdrawing_an_unknown_invitation_changes_nothing(owner_browser, subscription, key):
    invite(owner_browser, subscription, "zoltan")

    assert owner_browser.post(invitations_url(subscription), {"withdraw": key}).status_code == 302
    assert Invitation.objects.count() == 1


def test_invitations_are_only_for_owners(sign_in_as, operator, reader, subscription):
    for member in (operator, reader):
        browser = sign_in_as(member)
        assert browser.get(invitations_url(subscription)).status_code == 403
        assert invite(browser, subscription, "zoltan").status_code == 403
        assert "invitations/" not in browser.get(subscription_url(subscription)).text
    assert not Invitation.objects.exists()


def test_invitations_of_other_subscriptions_are_not_found(owner_browser, owner, collection_of_others):
    invitation_of_others = invitations.invite(
        collection_of_others.subscription, "zoltan", Role.READER, owner, timezone.now()
    )

    assert owner_browser.get(invitations_url(collection_of_others.subscription)).status_code == 404
    assert invite(owner_browser, collection_of_others.subscription, "eve").status_code == 404
    assert (
        owner_browser.post(
            invitations_url(collection_of_others.subscription), {"withdraw": invitation_of_others.pk}
        ).status_code
        == 404
    )
    assert Invitation.objects.get() == invitation_of_others


def test_invitation_of_another_subscription_cannot_be_withdrawn(
    owner_browser, owner, subscription, collection_of_others
):
    invitation_of_others = invitations.invite(
        collection_of_others.subscription, "zoltan", Role.READER, owner, timezone.now()
    )

    owner_browser.post(invitations_url(subscription), {"withdraw": invitation_of_others.pk})

    assert Invitation.objects.get() == invitation_of_others


def test_superuser_can_list_users(browser, stranger):
    assert stranger.username in browser.get("/admin/accounts/user/").text
    assert User.objects.count() == 2
