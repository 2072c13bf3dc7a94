"""The language of pages, and the parts that are always in English."""

import pytest

from accounts.models import ApiToken, User


@pytest.fixture
def mira(make_user):
    return make_user("mira", language="de")


def read_language(response) -> str:
    assert f'<html lang="{response["Content-Language"]}"' in response.text
    return response["Content-Language"]


@pytest.mark.parametrize(
    "accepted_languages, language",
    [
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("pt", "pt-br"),
        ("fr,tr;q=0.5", "tr"),
        ("fr", "en"),
        ("", "en"),
        ("x" * 10_000, "en"),
        ("*", "en"),
    ],
)
def test_page_without_sign_in_uses_the_language_of_the_browser(client, db, accepted_languages, language):
    response = client.get("/sign-in/", headers={"Accept-Language": accepted_languages})

    assert read_language(response) == language
    assert "Accept-Language" in response["Vary"]


@pytest.mark.parametrize("language, words", [("de", "Anmelden"), ("pt-br", "Entrar"), ("tr", "Oturum aç")])
def test_sign_in_page_is_translated_to_each_language(client, db, language, words):
    assert f"<h1>{words}</h1>" in client.get("/sign-in/", headers={"Accept-Language": language}).text


def test_language_chosen_at_sign_in_is_stored_in_a_cookie(client, db):
    response = client.get("/sign-in/?next=/account/&language=tr")

    assert response.url == "/sign-in/?next=%2Faccount%2F"
    assert read_language(client.get("/sign-in/", headers={"Accept-Language": "de"})) == "tr"


@pytest.mark.parametrize("unknown", ["fr", "../../x", "\x00", ""])
def test_unknown_language_is_not_stored(client, db, unknown):
    response = client.get("/sign-in/", {"language": unknown})

    assert response.status_code == 200
    assert not response.cookies.get("django_language")


def test_language_of_the_account_takes_precedence(client, mira):
    client.force_login(mira)
    client.cookies["django_language"] = "tr"

    response = client.get("/account/", headers={"Accept-Language": "en"})

    assert read_language(response) == "de"
    assert "Accept-Language" not in response["Vary"]


def test_message_after_saving_is_in_the_new_language(client, mira):
    client.force_login(mira)
    form = {"time_zone": "UTC", "language": "en", "week_start": "0", "hour_cycle": "24"}

    assert "Saved." in client.post("/account/", form, follow=True).text


def test_times_and_dates_use_the_language_and_hour_cycle_of_the_user(client, mira):
    User.objects.filter(pk=mira.pk).update(language="tr", hour_cycle=12)
    token, _ = ApiToken.objects.issue(mira, "ci")
    ApiToken.objects.filter(pk=token.pk).update(expires_at="2030-01-02T15:04:00Z")
    client.force_login(mira)

    assert "2 Ocak 2030 Çrş, ÖS 3:04" in client.get("/account/tokens/").text


def test_error_message_of_django_is_translated(client, mira):
    client.force_login(mira)

    assert "Dieses Feld ist zwingend erforderlich." in client.post("/account/tokens/", {"role": "1"}).text


def test_admin_is_in_english(client, mira):
    User.objects.filter(pk=mira.pk).update(is_staff=True, is_superuser=True)
    client.force_login(mira)

    page = client.get("/admin/accounts/user/add/")

    assert '<html lang="en"' in page.text
    assert "Collections" in page.text


@pytest.mark.parametrize("address", ["/api/nothing", "/api/tokens/x", "/subscriptions/x", "/v1/mint/x"])
def test_api_errors_are_in_english(client, mira, address):
    client.force_login(mira)

    response = client.get(address, headers={"Accept-Language": "de"})

    assert response.status_code >= 400
    assert "Content-Language" not in response
    assert "here" in response.text or "not" in response.text


def test_api_validation_errors_are_in_english(client, mira):
    client.force_login(mira)

    response = client.post("/api/tokens", {"name": ""}, "application/json", headers={"Accept-Language": "de"})

    assert "must not be empty" in response.json()["error"]["message"]
