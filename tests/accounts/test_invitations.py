"""A person becomes a member by accepting an invitation, and their own requests mean the same before and after."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts import invitations
from accounts.models import ApiToken, Invitation, Membership, Role, Subscription, User
from jobs.models import JobCollection
from tests.conftest import NOW


@pytest.fixture
def elsewhere(db):
    return Subscription.objects.create(name="elsewhere")


@pytest.fixture
def boss(make_user, elsewhere):
    """The owner of `elsewhere`, who shares no subscription with anybody."""
    return make_user("boss", in_subscription=elsewhere)


@pytest.fixture
def mira(make_user):
    """Somebody with one subscription of their own, `default`."""
    return make_user("mira", Role.OPERATOR, email="mira@example.com")


@pytest.fixture
def invite(elsewhere, boss):
    """Invite somebody to `elsewhere`."""

    def send(addressee="mira", role=Role.OPERATOR, now=None) -> Invitation:
        return invitations.invite(elsewhere, addressee, role, boss, now or timezone.now())

    return send


@pytest.fixture
def browser(client, mira):
    client.force_login(mira)
    return client


@pytest.fixture
def miras_api(api_of, mira):
    return api_of(ApiToken.objects.issue(mira, "ci")[1])


def answer(browser, invitation, what: str):
    return browser.post(f"/account/invitations/{invitation.pk}/", {"answer": what})


def roles_of(user) -> dict[str, int]:
    return dict(user.membership_set.values_list("subscription__name", "role"))


# Who is meant


@pytest.mark.parametrize("addressee", ["mira", "mira@example.com", "Mira@Example.com"])
def test_a_person_is_invited_by_exact_user_name_or_address(invite, mira, addressee):
    assert invite(addressee).user == mira


@pytest.mark.parametrize("addressee", ["Mira", "mir", "mira@example", "%", "mira@example.org"])
def test_what_is_nearly_a_name_means_nobody(invite, mira, addressee):
    assert invite(addressee).user is None


def test_somebody_who_is_switched_off_is_not_meant(invite, mira):
    User.objects.filter(pk=mira.pk).update(is_active=False)

    assert invite("mira").user is None


def test_a_user_name_goes_before_the_address_of_somebody_else(invite, mira, make_user):
    named = make_user("mira@example.com")

    assert invite("mira@example.com").user == named


@pytest.mark.parametrize("addressee", ["mira", "mira@example.com", "nobody", "nobody@example.com"])
def test_the_work_does_not_tell_whether_there_is_such_a_person(invite, mira, addressee, django_assert_num_queries):
    with django_assert_num_queries(9):
        invite(addressee)


# What the invited person sees and does


def test_an_invitation_stands_on_the_account_page(browser, invite):
    invitation = invite()

    assert f'href="/account/invitations/{invitation.pk}/"' in browser.get("/account/").text
    assert "elsewhere" in browser.get("/account/subscriptions/").text


def test_nothing_changes_until_it_is_accepted(browser, mira, invite, miras_api):
    invitation = invite()
    JobCollection.objects.create(subscription=invitation.subscription, name="theirs")

    question = browser.get(f"/account/invitations/{invitation.pk}/")

    assert question.status_code == 200
    assert roles_of(mira) == {"default": Role.OPERATOR}
    assert miras_api.get("/api/collections").json()["value"] == []
    assert miras_api.post("/api/collections", {"name": "mine"}).status_code == 201


def test_who_accepts_is_a_member_in_the_offered_role(browser, mira, invite):
    invitation = invite(role=Role.READER)

    answer(browser, invitation, "accept")

    assert roles_of(mira) == {"default": Role.OPERATOR, "elsewhere": Role.READER}
    assert not Invitation.objects.exists()
    assert answer(browser, invitation, "accept").status_code == 404


def test_who_declines_is_asked_no_more_and_the_owner_is_not_told(browser, mira, invite):
    invitation, unknown = invite(), invite("nobody")

    answer(browser, invitation, "decline")

    assert roles_of(mira) == {"default": Role.OPERATOR}
    assert f"/account/invitations/{invitation.pk}/" not in browser.get("/account/subscriptions/").text
    assert answer(browser, invitation, "accept").status_code == 404
    invitation.refresh_from_db()
    assert invitation.user == unknown.user


@pytest.mark.parametrize("what", ["", "yes", "\x00"])
def test_an_answer_is_one_of_two(browser, mira, invite, what):
    assert answer(browser, invite(), what).status_code == 400
    assert roles_of(mira) == {"default": Role.OPERATOR}


@pytest.mark.parametrize("what", ["accept", "decline"])
def test_what_has_ended_cannot_be_answered(browser, mira, invite, what):
    invitation = invite(now=timezone.now() - invitations.LIFETIME)

    assert answer(browser, invitation, what).status_code == 404
    assert "elsewhere" not in browser.get("/account/").text + browser.get("/account/subscriptions/").text
    assert roles_of(mira) == {"default": Role.OPERATOR}


@pytest.mark.parametrize("what", ["accept", "decline"])
def test_an_invitation_of_somebody_else_looks_like_none(client, make_user, invite, mira, what):
    invitation = invite()
    stranger = make_user("eve")
    client.force_login(stranger)

    assert client.get(f"/account/invitations/{invitation.pk}/").status_code == 404
    assert answer(client, invitation, what).status_code == 404
    assert client.get(f"/account/invitations/{10**30}/").status_code == 404
    assert roles_of(stranger) == {"default": Role.OWNER}
    assert Invitation.objects.get().user == mira


def test_who_is_invited_by_name_and_by_address_accepts_once(browser, invite):
    by_name = invite("mira", Role.READER)
    invite("mira@example.com", Role.OWNER)

    answer(browser, by_name, "accept")

    assert not Invitation.objects.exists()


def test_one_that_is_withdrawn_meanwhile_is_not_accepted(mira, invite):
    invitation = invite()
    Invitation.objects.all().delete()

    assert invitations.accept(invitation, mira, timezone.now()) is False
    assert roles_of(mira) == {"default": Role.OPERATOR}


# Limits


def test_invitations_of_a_subscription_are_limited(invite, monkeypatch):
    monkeypatch.setattr(invitations, "MAX_OPEN_INVITATIONS", 2)
    invite("a", now=NOW)
    invite("b", now=NOW)

    with pytest.raises(ValidationError, match="At most 2"):
        invite("c", now=NOW)

    assert invite("c", now=NOW + invitations.LIFETIME)  # those that have ended do not count
    assert Invitation.objects.count() == 1


def test_nobody_is_invited_twice_or_as_a_member(invite, boss):
    invite("mira", now=NOW)

    with pytest.raises(ValidationError, match="invited already"):
        invite("mira", now=NOW)
    with pytest.raises(ValidationError, match="a member already"):
        invite("boss", now=NOW)
    assert invite("mira", now=NOW + invitations.LIFETIME)


# What requests mean that name no subscription


def written_to(api, name: str) -> str:
    response = api.post("/api/collections", {"name": name})
    assert response.status_code == 201, response.content
    return str(JobCollection.objects.get(name=name).subscription)


def test_a_second_subscription_does_not_change_where_requests_write(browser, miras_api, invite):
    assert written_to(miras_api, "before") == "default"

    page = browser.get(f"/account/invitations/{invite().pk}/").text
    answer(browser, Invitation.objects.get(), "accept")

    assert "go on writing to <strong>default</strong>" in page
    assert written_to(miras_api, "after") == "default"


def test_the_default_subscription_is_the_persons_choice(browser, mira, miras_api, invite, elsewhere):
    answer(browser, invite(), "accept")

    browser.post("/account/subscriptions/", {"default_subscription": elsewhere.pk})
    assert written_to(miras_api, "there") == "elsewhere"

    browser.post("/account/subscriptions/", {"default_subscription": ""})
    refused = miras_api.post("/api/collections", {"name": "where"})
    assert (refused.status_code, refused.json()["error"]["target"]) == (400, "subscription")
    assert "more than one" in refused.json()["error"]["message"]


def test_who_loses_the_default_subscription_writes_to_no_other_unasked(browser, mira, miras_api, invite):
    answer(browser, invite(), "accept")
    mira.membership_set.filter(subscription__name="default").delete()

    refused = miras_api.post("/api/collections", {"name": "mine"})

    assert (refused.status_code, refused.json()["error"]["target"]) == (400, "subscription")
    assert "default one" in refused.json()["error"]["message"]
    assert not JobCollection.objects.exists()


@pytest.mark.parametrize("role", [None, Role.READER])
def test_a_default_is_one_that_the_person_may_write_to(browser, mira, elsewhere, role):
    if role is not None:
        Membership.objects.create(subscription=elsewhere, user=mira, role=role)

    for key in (elsewhere.pk, "00000000-0000-0000-0000-00000000000f", "x", "\x00"):
        page = browser.post("/account/subscriptions/", {"default_subscription": key})
        assert list(page.context["form"].errors) == ["default_subscription"]

    mira.refresh_from_db()
    assert mira.default_subscription is None


def test_a_reader_of_two_subscriptions_still_may_not_write(mira, miras_api, elsewhere):
    mira.membership_set.update(role=Role.READER)
    Membership.objects.create(subscription=elsewhere, user=mira, role=Role.READER)

    assert miras_api.post("/api/collections", {"name": "mine"}).status_code == 403


def test_the_page_of_subscriptions_takes_a_fixed_number_of_queries(browser, mira, boss, django_assert_num_queries):
    for number in range(5):
        subscription = Subscription.objects.create(name=f"s{number}")
        invitations.invite(subscription, "mira", Role.READER, boss, timezone.now())
        Membership.objects.create(subscription=Subscription.objects.create(name=f"m{number}"), user=mira)

    with django_assert_num_queries(8):
        assert browser.get("/account/subscriptions/").status_code == 200


def test_an_invitation_says_when_it_ends(invite):
    invitation = invite(now=NOW)

    assert invitation.expires_at == NOW + timedelta(days=14)
