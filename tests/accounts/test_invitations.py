"""Invitations to subscriptions, and the default subscription of requests."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts import invitations
from accounts.models import ApiToken, Invitation, Membership, Role, Subscription, User
from jobs.models import JobCollection
from tests.conftest import NOW


@pytest.fixture
def other_subscription(db):
    return Subscription.objects.create(name="elsewhere")


@pytest.fixture
def boss(make_user, other_subscription):
    """The owner of the other subscription, who shares no subscription with other users."""
    return make_user("boss", in_subscription=other_subscription)


@pytest.fixture
def mira(make_user):
    """A user who is a member only of the subscription `default`."""
    return make_user("mira", Role.OPERATOR, email="mira@example.com")


@pytest.fixture
def invite(other_subscription, boss):
    """Return a function that invites a user to the other subscription."""

    def send(addressee="mira", role=Role.OPERATOR, now=None) -> Invitation:
        return invitations.invite(other_subscription, addressee, role, boss, now or timezone.now())

    return send


@pytest.fixture
def browser(client, mira):
    client.force_login(mira)
    return client


@pytest.fixture
def miras_api(api_of, mira):
    return api_of(ApiToken.objects.issue(mira, "ci")[1])


def post_answer(browser, invitation, choice: str):
    return browser.post(f"/account/invitations/{invitation.pk}/", {"answer": choice})


def roles_of(user) -> dict[str, int]:
    return dict(user.membership_set.values_list("subscription__name", "role"))


# The addressee


@pytest.mark.parametrize("addressee", ["mira", "mira@example.com", "Mira@Example.com"])
def test_user_is_invited_by_exact_user_name_or_email(invite, mira, addressee):
    assert invite(addressee).user == mira


@pytest.mark.parametrize("addressee", ["Mira", "mir", "mira@example", "%", "mira@example.org"])
def test_similar_name_invites_no_user(invite, mira, addressee):
    assert invite(addressee).user is None


def test_inactive_user_is_not_invited(invite, mira):
    User.objects.filter(pk=mira.pk).update(is_active=False)

    assert invite("mira").user is None


def test_user_name_takes_precedence_over_the_email_of_another_user(invite, mira, make_user):
    named = make_user("mira@example.com")

    assert invite("mira@example.com").user == named


@pytest.mark.parametrize("addressee", ["mira", "mira@example.com", "nobody", "nobody@example.com"])
def test_invitation_takes_the_same_queries_if_the_user_does_not_exist(
    invite, mira, addressee, django_assert_num_queries
):
    with django_assert_num_queries(9):
        invite(addressee)


# The invited user


def test_account_page_shows_an_invitation(browser, invite):
    invitation = invite()

    assert f'href="/account/invitations/{invitation.pk}/"' in browser.get("/account/").text
    assert "elsewhere" in browser.get("/account/subscriptions/").text


def test_invitation_gives_no_access_before_acceptance(browser, mira, invite, miras_api):
    invitation = invite()
    JobCollection.objects.create(subscription=invitation.subscription, name="theirs")

    page = browser.get(f"/account/invitations/{invitation.pk}/")

    assert page.status_code == 200
    assert roles_of(mira) == {"default": Role.OPERATOR}
    assert miras_api.get("/api/collections").json()["value"] == []
    assert miras_api.post("/api/collections", {"name": "mine"}).status_code == 201


def test_accepted_invitation_creates_a_membership_with_its_role(browser, mira, invite):
    invitation = invite(role=Role.READER)

    post_answer(browser, invitation, "accept")

    assert roles_of(mira) == {"default": Role.OPERATOR, "elsewhere": Role.READER}
    assert not Invitation.objects.exists()
    assert post_answer(browser, invitation, "accept").status_code == 404


def test_declined_invitation_disappears_and_looks_open_to_the_owner(browser, mira, invite):
    invitation, unknown = invite(), invite("nobody")

    post_answer(browser, invitation, "decline")

    assert roles_of(mira) == {"default": Role.OPERATOR}
    assert f"/account/invitations/{invitation.pk}/" not in browser.get("/account/subscriptions/").text
    assert post_answer(browser, invitation, "accept").status_code == 404
    invitation.refresh_from_db()
    assert invitation.user == unknown.user


@pytest.mark.parametrize("choice", ["", "yes", "\x00"])
def test_invalid_answer_is_refused(browser, mira, invite, choice):
    assert post_answer(browser, invite(), choice).status_code == 400
    assert roles_of(mira) == {"default": Role.OPERATOR}


@pytest.mark.parametrize("choice", ["accept", "decline"])
def test_expired_invitation_cannot_be_answered(browser, mira, invite, choice):
    invitation = invite(now=timezone.now() - invitations.LIFETIME)

    assert post_answer(browser, invitation, choice).status_code == 404
    assert "elsewhere" not in browser.get("/account/").text + browser.get("/account/subscriptions/").text
    assert roles_of(mira) == {"default": Role.OPERATOR}


@pytest.mark.parametrize("choice", ["accept", "decline"])
def test_invitation_of_another_user_is_not_found(client, make_user, invite, mira, choice):
    invitation = invite()
    stranger = make_user("eve")
    client.force_login(stranger)

    assert client.get(f"/account/invitations/{invitation.pk}/").status_code == 404
    assert post_answer(client, invitation, choice).status_code == 404
    assert client.get(f"/account/invitations/{10**30}/").status_code == 404
    assert roles_of(stranger) == {"default": Role.OWNER}
    assert Invitation.objects.get().user == mira


def test_acceptance_deletes_all_invitations_of_the_user_to_the_subscription(browser, invite):
    by_name = invite("mira", Role.READER)
    invite("mira@example.com", Role.OWNER)

    post_answer(browser, by_name, "accept")

    assert not Invitation.objects.exists()


def test_withdrawn_invitation_cannot_be_accepted(mira, invite):
    invitation = invite()
    Invitation.objects.all().delete()

    assert invitations.accept(invitation, mira, timezone.now()) is False
    assert roles_of(mira) == {"default": Role.OPERATOR}


# Limits


def test_number_of_invitations_of_a_subscription_is_limited(invite, monkeypatch):
    monkeypatch.setattr(invitations, "MAX_OPEN_INVITATIONS", 2)
    invite("a", now=NOW)
    invite("b", now=NOW)

    with pytest.raises(ValidationError, match="At most 2"):
        invite("c", now=NOW)

    assert invite("c", now=NOW + invitations.LIFETIME)  # expired invitations do not count
    assert Invitation.objects.count() == 1


def test_invited_users_and_members_cannot_be_invited(invite, boss):
    invite("mira", now=NOW)

    with pytest.raises(ValidationError, match="invited already"):
        invite("mira", now=NOW)
    with pytest.raises(ValidationError, match="a member already"):
        invite("boss", now=NOW)
    assert invite("mira", now=NOW + invitations.LIFETIME)


# Requests without a subscription


def create_collection(api, name: str) -> str:
    response = api.post("/api/collections", {"name": name})
    assert response.status_code == 201, response.content
    return str(JobCollection.objects.get(name=name).subscription)


def test_second_subscription_does_not_change_the_default(browser, miras_api, invite):
    assert create_collection(miras_api, "before") == "default"

    page = browser.get(f"/account/invitations/{invite().pk}/").text
    post_answer(browser, Invitation.objects.get(), "accept")

    assert "continue to write to <strong>default</strong>" in page
    assert create_collection(miras_api, "after") == "default"


def test_user_can_choose_the_default_subscription(browser, mira, miras_api, invite, other_subscription):
    post_answer(browser, invite(), "accept")

    browser.post("/account/subscriptions/", {"default_subscription": other_subscription.pk})
    assert create_collection(miras_api, "there") == "elsewhere"

    browser.post("/account/subscriptions/", {"default_subscription": ""})
    refused = miras_api.post("/api/collections", {"name": "where"})
    assert (refused.status_code, refused.json()["error"]["target"]) == (400, "subscription")
    assert "more than one" in refused.json()["error"]["message"]


def test_lost_default_subscription_is_not_replaced_by_another(browser, mira, miras_api, invite):
    post_answer(browser, invite(), "accept")
    mira.membership_set.filter(subscription__name="default").delete()

    refused = miras_api.post("/api/collections", {"name": "mine"})

    assert (refused.status_code, refused.json()["error"]["target"]) == (400, "subscription")
    assert "default one" in refused.json()["error"]["message"]
    assert not JobCollection.objects.exists()


@pytest.mark.parametrize("role", [None, Role.READER])
def test_default_subscription_must_be_writable(browser, mira, other_subscription, role):
    if role is not None:
        Membership.objects.create(subscription=other_subscription, user=mira, role=role)

    for key in (other_subscription.pk, "00000000-0000-0000-0000-00000000000f", "x", "\x00"):
        page = browser.post("/account/subscriptions/", {"default_subscription": key})
        assert list(page.context["form"].errors) == ["default_subscription"]

    mira.refresh_from_db()
    assert mira.default_subscription is None


def test_reader_of_two_subscriptions_cannot_write(mira, miras_api, other_subscription):
    mira.membership_set.update(role=Role.READER)
    Membership.objects.create(subscription=other_subscription, user=mira, role=Role.READER)

    assert miras_api.post("/api/collections", {"name": "mine"}).status_code == 403


def test_subscriptions_page_takes_a_fixed_number_of_queries(browser, mira, boss, django_assert_num_queries):
    for number in range(5):
        subscription = Subscription.objects.create(name=f"s{number}")
        invitations.invite(subscription, "mira", Role.READER, boss, timezone.now())
        Membership.objects.create(subscription=Subscription.objects.create(name=f"m{number}"), user=mira)

    with django_assert_num_queries(8):
        assert browser.get("/account/subscriptions/").status_code == 200


def test_invitation_expires_after_14_days(invite):
    invitation = invite(now=NOW)

    assert invitation.expires_at == NOW + timedelta(days=14)


@pytest.mark.parametrize(
    "change",
    [
        lambda boss: boss.membership_set.all().delete(),
        lambda boss: boss.membership_set.update(role=Role.OPERATOR),
        lambda boss: User.objects.filter(pk=boss.pk).update(is_active=False),
        lambda boss: boss.delete(),
    ],
)
def test_invitation_ends_when_its_sender_may_no_longer_invite(invite, boss, mira, browser, change):
    invitation = invite()

    change(boss)

    assert post_answer(browser, invitation, "accept").status_code in (302, 404)
    assert "elsewhere" not in roles_of(mira)


def test_invitation_by_a_superuser_who_is_no_member_is_accepted(other_subscription, owner, mira, browser):
    invitation = invitations.invite(other_subscription, "mira", Role.OPERATOR, owner, timezone.now())

    post_answer(browser, invitation, "accept")

    assert roles_of(mira)["elsewhere"] == Role.OPERATOR
