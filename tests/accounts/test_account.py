"""The account page: settings, password and tokens of the signed-in user."""

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
def test_account_pages_require_sign_in(client, browser, address):
    signed_in = browser.get(address)
    client.logout()

    assert signed_in.status_code == 200
    assert client.get(address).url == f"/sign-in/?next={address}"


@pytest.mark.parametrize("address", PAGES)
def test_account_pages_refuse_other_methods(browser, address):
    assert browser.delete(address).status_code == 405


def test_user_can_change_settings(browser, mira):
    choice = {"language": "pt-br", "week_start": "6", "hour_cycle": "12", "email": "mira@example.com"}

    response = browser.post("/account/", FORM | choice)

    mira.refresh_from_db()
    assert response.url == "/account/"
    assert (mira.time_zone, mira.language, mira.week_start, mira.hour_cycle) == ("Asia/Tokyo", "pt-br", 6, 12)
    assert (mira.first_name, mira.email) == ("Mira", "mira@example.com")


@pytest.mark.parametrize(
    "field, value",
    [
        ("time_zone", "../../etc/passwd"),
        ("time_zone", ""),
        ("time_zone", "Europe/\x00"),
        ("language", "fr"),
        ("week_start", "1"),  # weeks cannot start on a Tuesday
        ("week_start", "99999999999999999999"),
        ("week_start", "x"),
        ("hour_cycle", "13"),
        ("hour_cycle", ""),
        ("first_name", "x" * 151),
        ("last_name", "\x00"),
        ("email", "mira"),
    ],
)
def test_error_of_a_setting_is_shown_at_its_field(browser, mira, field, value):
    response = browser.post("/account/", FORM | {field: value})

    assert response.status_code == 200
    assert list(response.context["form"].errors) == [field]
    assert "Please correct the error below." in response.text
    assert User.objects.get(pk=mira.pk).first_name == ""


def test_refused_form_does_not_change_the_page_header(browser):
    assert "Account and settings of mira" in browser.post("/account/", FORM | {"email": "mira"}).text


def test_user_cannot_become_staff(browser, mira):
    browser.post("/account/", FORM | {"is_staff": "on", "is_superuser": "on", "username": "root"})

    mira.refresh_from_db()
    assert (mira.username, mira.is_staff, mira.is_superuser) == ("mira", False, False)


def test_account_page_uses_the_hour_cycle_of_the_user(browser, mira):
    User.objects.filter(pk=mira.pk).update(hour_cycle=12)
    token, _ = ApiToken.objects.issue(mira, "ci", timezone.now() + timedelta(days=400))
    ApiToken.objects.filter(pk=token.pk).update(expires_at="2030-01-02T15:04:00Z")

    page = browser.get("/account/tokens/").text

    assert "Wed 2 January 2030, 3:04 pm" in page
    assert 'data-pm="%s pm"' in page


def test_password_change_ends_other_sessions(browser, mira, client):
    change = {"old_password": "correct horse", "new_password1": "battery staple", "new_password2": "battery staple"}

    response = browser.post("/account/password/", change, follow=True)

    mira.refresh_from_db()
    assert mira.check_password("battery staple")
    assert "Password changed" in response.text
    assert response.context["user"] == mira


def test_password_change_requires_the_old_password(browser, mira):
    change = {"old_password": "wrong", "new_password1": "battery staple", "new_password2": "battery staple"}

    response = browser.post("/account/password/", change)

    mira.refresh_from_db()
    assert list(response.context["form"].errors) == ["old_password"]
    assert mira.check_password("correct horse")


@pytest.mark.parametrize("option, remaining", [({"revoke_tokens": "on"}, ["hers"]), ({}, ["ci", "hers"])])
def test_password_change_revokes_api_tokens_on_request(browser, mira, owner, api_of, option, remaining):
    text = ApiToken.objects.issue(mira, "ci")[1]
    ApiToken.objects.issue(owner, "hers")
    change = {"old_password": "correct horse", "new_password1": "battery staple", "new_password2": "battery staple"}

    form = browser.get("/account/password/").context["form"]
    response = browser.post("/account/password/", change | option, follow=True)

    assert form["revoke_tokens"].value() is True
    assert sorted(ApiToken.objects.values_list("name", flat=True)) == remaining
    assert api_of(text).get("/api/tokens").status_code == (401 if option else 200)
    assert ("1 API token was revoked." in response.text) is bool(option)


def test_refused_password_change_revokes_no_tokens(browser, mira):
    ApiToken.objects.issue(mira, "ci")
    change = {"old_password": "wrong", "new_password1": "battery staple", "new_password2": "battery staple"}

    browser.post("/account/password/", change | {"revoke_tokens": "on"})

    assert ApiToken.objects.exists()


# Tokens


def test_token_is_shown_once_and_stored_as_a_digest(browser, mira, api_of):
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
        ("expires_at", "9999-12-31T23:59"),  # in the zone New York, because this is the year 10000 in UTC
        ("expires_at", "tomorrow"),
    ],
)
def test_invalid_token_form_creates_no_token(browser, mira, field, value):
    User.objects.filter(pk=mira.pk).update(time_zone="America/New_York")

    response = browser.post("/account/tokens/", TOKEN | {field: value})

    assert list(response.context["form"].errors) == [field]
    assert not ApiToken.objects.exists()


def test_token_is_revoked_after_confirmation(browser, mira, api_of):
    token, text = ApiToken.objects.issue(mira, "ci")

    confirmation = browser.get(f"/account/tokens/{token.pk}/revoke/")
    assert "stops working immediately" in confirmation.text
    assert ApiToken.objects.exists()
    browser.post(f"/account/tokens/{token.pk}/revoke/")

    assert api_of(text).get("/api/tokens").status_code == 401


def test_tokens_of_other_users_are_not_found(browser, owner):
    token_of_other_user, _ = ApiToken.objects.issue(owner, "hers")

    assert "hers" not in browser.get("/account/tokens/").text
    assert browser.post(f"/account/tokens/{token_of_other_user.pk}/revoke/").status_code == 404
    assert browser.post(f"/account/tokens/{10**30}/revoke/").status_code == 404
    assert ApiToken.objects.exists()
