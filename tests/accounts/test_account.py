"""What everybody may change about themselves, whether staff or not."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import ApiToken, Role, User

FORM = {"first_name": "Mira", "time_zone": "Asia/Tokyo", "language": "", "week_start": "0", "hour_cycle": "24"}
TOKEN = {"name": "ci", "role": Role.OPERATOR}
PAGES = ["/account/", "/account/password/", "/account/tokens/"]


@pytest.fixture
def mira(make_user):
    return make_user("mira")


@pytest.fixture
def browser(client, mira):
    client.force_login(mira)
    return client


@pytest.mark.parametrize("address", PAGES)
def test_an_account_is_for_who_is_signed_in(client, browser, address):
    there = browser.get(address)
    client.logout()

    assert there.status_code == 200
    assert client.get(address).url == f"/sign-in/?next={address}"


@pytest.mark.parametrize("address", PAGES)
def test_a_page_is_asked_for_or_sent_and_nothing_else(browser, address):
    assert browser.delete(address).status_code == 405


def test_everybody_chooses_how_they_read(browser, mira):
    choice = {"language": "pt-br", "week_start": "6", "hour_cycle": "12", "email": "mira@example.com"}

    answer = browser.post("/account/", FORM | choice)

    mira.refresh_from_db()
    assert answer.url == "/account/"
    assert (mira.time_zone, mira.language, mira.week_start, mira.hour_cycle) == ("Asia/Tokyo", "pt-br", 6, 12)
    assert (mira.first_name, mira.email) == ("Mira", "mira@example.com")


@pytest.mark.parametrize(
    "field, value",
    [
        ("time_zone", "../../etc/passwd"),
        ("time_zone", ""),
        ("time_zone", "Europe/\x00"),
        ("language", "fr"),
        ("week_start", "1"),  # no calendar begins its weeks on a Tuesday
        ("week_start", "99999999999999999999"),
        ("week_start", "x"),
        ("hour_cycle", "13"),
        ("hour_cycle", ""),
        ("first_name", "x" * 151),
        ("last_name", "\x00"),
        ("email", "mira"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(browser, mira, field, value):
    answer = browser.post("/account/", FORM | {field: value})

    assert answer.status_code == 200
    assert list(answer.context["form"].errors) == [field]
    assert "Please correct the error below." in answer.text
    assert User.objects.get(pk=mira.pk).first_name == ""


def test_a_form_that_was_refused_changes_nothing_in_the_frame(browser):
    assert "Account and settings of mira" in browser.post("/account/", FORM | {"email": "mira"}).text


def test_nobody_makes_themselves_staff(browser, mira):
    browser.post("/account/", FORM | {"is_staff": "on", "is_superuser": "on", "username": "root"})

    mira.refresh_from_db()
    assert (mira.username, mira.is_staff, mira.is_superuser) == ("mira", False, False)


def test_times_are_written_in_the_viewers_hour_cycle(browser, mira):
    User.objects.filter(pk=mira.pk).update(hour_cycle=12)
    token, _ = ApiToken.objects.issue(mira, "ci", timezone.now() + timedelta(days=400))
    ApiToken.objects.filter(pk=token.pk).update(expires_at="2030-01-02T15:04:00Z")

    page = browser.get("/account/tokens/").text

    assert "Wed 2 January 2030, 3:04 pm" in page
    assert 'data-pm="%s pm"' in page


def test_a_password_is_changed_and_other_sessions_end(browser, mira, client):
    change = {"old_password": "correct horse", "new_password1": "battery staple", "new_password2": "battery staple"}

    answer = browser.post("/account/password/", change, follow=True)

    mira.refresh_from_db()
    assert mira.check_password("battery staple")
    assert "sign in with the new password" in answer.text
    assert answer.context["user"] == mira


def test_a_password_is_not_changed_without_the_old_one(browser, mira):
    change = {"old_password": "wrong", "new_password1": "battery staple", "new_password2": "battery staple"}

    answer = browser.post("/account/password/", change)

    mira.refresh_from_db()
    assert list(answer.context["form"].errors) == ["old_password"]
    assert mira.check_password("correct horse")


@pytest.mark.parametrize("ticked, left", [({"revoke_tokens": "on"}, ["hers"]), ({}, ["ci", "hers"])])
def test_a_password_change_revokes_api_tokens_when_ticked(browser, mira, owner, api_of, ticked, left):
    text = ApiToken.objects.issue(mira, "ci")[1]
    ApiToken.objects.issue(owner, "hers")
    change = {"old_password": "correct horse", "new_password1": "battery staple", "new_password2": "battery staple"}

    form = browser.get("/account/password/").context["form"]
    answer = browser.post("/account/password/", change | ticked, follow=True)

    assert form["revoke_tokens"].value() is True
    assert sorted(ApiToken.objects.values_list("name", flat=True)) == left
    assert api_of(text).get("/api/tokens").status_code == (401 if ticked else 200)
    assert ("1 API token was revoked." in answer.text) is bool(ticked)


def test_a_refused_password_change_revokes_nothing(browser, mira):
    ApiToken.objects.issue(mira, "ci")
    change = {"old_password": "wrong", "new_password1": "battery staple", "new_password2": "battery staple"}

    browser.post("/account/password/", change | {"revoke_tokens": "on"})

    assert ApiToken.objects.exists()


# Tokens


def test_a_token_is_shown_once_and_kept_as_a_digest(browser, mira, api_of):
    page = browser.post("/account/tokens/", TOKEN)

    text, token = page.context["text"], ApiToken.objects.get()
    assert text in page.text
    assert "no-store" in page["Cache-Control"]
    assert (token.user, token.role) == (mira, Role.OPERATOR)
    assert text not in browser.get("/account/tokens/").text
    assert text not in str(dict(browser.session))
    assert api_of(text).get("/api/tokens").status_code == 200


@pytest.mark.parametrize(
    "field, value",
    [
        ("name", ""),
        ("name", "x" * 101),
        ("name", "\x00"),
        ("role", "4"),
        ("role", "owner"),
        ("expires_at", "2020-01-01T00:00"),
        ("expires_at", "0001-01-01T00:00"),
        ("expires_at", "9999-12-31T23:59"),  # in New York; in UTC that would be the year 10000
        ("expires_at", "tomorrow"),
    ],
)
def test_a_token_that_cannot_be_is_not_made(browser, mira, field, value):
    User.objects.filter(pk=mira.pk).update(time_zone="America/New_York")

    answer = browser.post("/account/tokens/", TOKEN | {field: value})

    assert list(answer.context["form"].errors) == [field]
    assert not ApiToken.objects.exists()


def test_a_token_is_revoked_after_a_question(browser, mira, api_of):
    token, text = ApiToken.objects.issue(mira, "ci")

    question = browser.get(f"/account/tokens/{token.pk}/revoke/")
    assert "is refused from then on" in question.text
    assert ApiToken.objects.exists()
    browser.post(f"/account/tokens/{token.pk}/revoke/")

    assert api_of(text).get("/api/tokens").status_code == 401


def test_tokens_of_others_look_like_none(browser, owner):
    foreign, _ = ApiToken.objects.issue(owner, "hers")

    assert "hers" not in browser.get("/account/tokens/").text
    assert browser.post(f"/account/tokens/{foreign.pk}/revoke/").status_code == 404
    assert browser.post(f"/account/tokens/{10**30}/revoke/").status_code == 404
    assert ApiToken.objects.exists()
