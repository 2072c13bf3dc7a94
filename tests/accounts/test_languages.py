"""The viewer's language, and what speaks English to everybody."""

import pytest

from accounts.models import ApiToken, User


@pytest.fixture
def mira(make_user):
    return make_user("mira", language="de")


def language_of(answer) -> str:
    assert f'<html lang="{answer["Content-Language"]}"' in answer.text
    return answer["Content-Language"]


@pytest.mark.parametrize(
    "asked, language",
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
def test_who_is_not_signed_in_is_addressed_as_the_browser_asks(client, db, asked, language):
    answer = client.get("/sign-in/", headers={"Accept-Language": asked})

    assert language_of(answer) == language
    assert "Accept-Language" in answer["Vary"]


@pytest.mark.parametrize("language, words", [("de", "Anmelden"), ("pt-br", "Entrar"), ("tr", "Oturum aç")])
def test_every_language_has_its_own_words(client, db, language, words):
    assert f"<h1>{words}</h1>" in client.get("/sign-in/", headers={"Accept-Language": language}).text


def test_a_language_chosen_at_sign_in_stays_in_the_browser(client, db):
    answer = client.get("/sign-in/?next=/account/&language=tr")

    assert answer.url == "/sign-in/?next=%2Faccount%2F"
    assert language_of(client.get("/sign-in/", headers={"Accept-Language": "de"})) == "tr"


@pytest.mark.parametrize("unknown", ["fr", "../../x", "\x00", ""])
def test_a_language_that_is_not_there_is_not_chosen(client, db, unknown):
    answer = client.get("/sign-in/", {"language": unknown})

    assert answer.status_code == 200
    assert not answer.cookies.get("django_language")


def test_an_accounts_own_language_comes_first(client, mira):
    client.force_login(mira)
    client.cookies["django_language"] = "tr"

    answer = client.get("/account/", headers={"Accept-Language": "en"})

    assert language_of(answer) == "de"
    assert "Accept-Language" not in answer["Vary"]


def test_what_was_saved_is_said_in_the_new_language(client, mira):
    client.force_login(mira)
    form = {"time_zone": "UTC", "language": "en", "week_start": "0", "hour_cycle": "24"}

    assert "Saved." in client.post("/account/", form, follow=True).text


def test_times_and_dates_follow_the_language_and_the_hour_cycle(client, mira):
    User.objects.filter(pk=mira.pk).update(language="tr", hour_cycle=12)
    token, _ = ApiToken.objects.issue(mira, "ci")
    ApiToken.objects.filter(pk=token.pk).update(expires_at="2030-01-02T15:04:00Z")
    client.force_login(mira)

    assert "2 Ocak 2030 Çrş, ÖS 3:04" in client.get("/account/tokens/").text


def test_a_refusal_of_django_itself_follows_the_language(client, mira):
    client.force_login(mira)

    assert "Dieses Feld ist zwingend erforderlich." in client.post("/account/tokens/", {"role": "1"}).text


def test_the_administration_speaks_english_with_staff(client, mira):
    User.objects.filter(pk=mira.pk).update(is_staff=True, is_superuser=True)
    client.force_login(mira)

    page = client.get("/admin/accounts/user/add/")

    assert '<html lang="en"' in page.text
    assert "Collections" in page.text


@pytest.mark.parametrize("address", ["/api/nothing", "/api/tokens/x", "/subscriptions/x", "/v1/mint/x"])
def test_the_apis_speak_english(client, mira, address):
    client.force_login(mira)

    answer = client.get(address, headers={"Accept-Language": "de"})

    assert answer.status_code >= 400
    assert "Content-Language" not in answer
    assert "here" in answer.text or "not" in answer.text


def test_an_api_refuses_in_english(client, mira):
    client.force_login(mira)

    answer = client.post("/api/tokens", {"name": ""}, "application/json", headers={"Accept-Language": "de"})

    assert "must not be empty" in answer.json()["error"]["message"]
