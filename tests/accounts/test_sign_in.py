"""Signing in and out: everybody at one place, and never led elsewhere."""

import pytest

SIGN_IN = {"username": "ada", "password": "correct horse"}


@pytest.fixture
def ada(make_user):
    return make_user("ada")


@pytest.fixture
def browser(client, ada):
    client.force_login(ada)
    return client


def test_everybody_signs_in_whether_staff_or_not(client, ada):
    answer = client.post("/sign-in/", SIGN_IN, follow=True)

    assert answer.request["PATH_INFO"] == "/admin/"
    assert answer.context["user"] == ada


def test_who_has_signed_in_comes_out_where_they_wanted(client, ada):
    assert client.post("/sign-in/?next=/account/tokens/", SIGN_IN).url == "/account/tokens/"


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://example.com/",
        "//example.com/",
        "/\\example.com",
        "\\\\example.com",
        "javascript:alert(1)",
        "http:///example.com",
        " //example.com",
        "\x00//example.com",
        "/sign-in/",
        "/sign-in/?next=/sign-in/",
    ],
)
def test_nobody_is_led_elsewhere_or_in_a_circle(client, ada, elsewhere):
    there = client.get("/sign-in/", {"next": elsewhere})
    signed_in = client.post("/sign-in/", {**SIGN_IN, "next": elsewhere}, follow=True)
    again = client.get("/sign-in/", {"next": elsewhere}, follow=True)

    assert "example.com" not in there.text
    assert signed_in.request["PATH_INFO"] == again.request["PATH_INFO"] == "/admin/"


def test_a_way_on_that_is_too_long_is_forgotten(client, ada):
    assert client.post("/sign-in/", {**SIGN_IN, "next": "/" + "x" * 5000}).url == "/"


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"username": "ada", "password": "wrong"}, "Name and password do not belong together."),
        ({"username": "nobody", "password": "correct horse"}, "Name and password do not belong together."),
        ({"username": "a\x00da", "password": "correct horse"}, "Null characters are not allowed."),
        ({"username": "a" * 100_000, "password": "x"}, "Name and password do not belong together."),
        ({"password": "correct horse"}, "This field is required."),
    ],
)
def test_what_is_wrong_is_said_at_the_form(client, ada, fields, words):
    answer = client.post("/sign-in/", fields)

    assert words in answer.text
    assert not answer.wsgi_request.user.is_authenticated


def test_an_account_that_is_switched_off_looks_like_none(client, ada):
    ada.is_active = False
    ada.save()

    assert "do not belong together" in client.post("/sign-in/", SIGN_IN).text


def test_after_ten_wrong_passwords_even_the_right_one_waits(client, ada):
    for _ in range(10):
        client.post("/sign-in/", {"username": "ada", "password": "wrong"})

    answer = client.post("/sign-in/", SIGN_IN)

    assert "Too many failed tries" in answer.text
    assert not answer.wsgi_request.user.is_authenticated


def test_tries_at_the_apis_and_at_the_form_count_together(client, api_of, ada):
    for _ in range(10):
        api_of().get("/api/tokens", headers={"Authorization": "Basic YWRhOndyb25n"})

    assert "Too many failed tries" in client.post("/sign-in/", SIGN_IN).text


def test_who_is_signed_in_is_led_on(browser):
    assert browser.get("/sign-in/?next=/account/").url == "/account/"
    assert browser.get("/sign-in/").url == "/"


def test_a_part_of_a_page_asks_for_the_whole_one_when_the_session_has_ended(client, db):
    answer = client.get("/account/", headers={"HX-Request": "true"}, follow=True)

    assert answer["HX-Refresh"] == "true"


def test_sign_out_takes_a_post(browser):
    assert browser.get("/sign-out/").status_code == 405
    answer = browser.post("/sign-out/")

    assert "Signed out" in answer.text
    assert not answer.wsgi_request.user.is_authenticated


def test_sign_out_leads_nobody_elsewhere(browser):
    assert browser.post("/sign-out/", {"next": "https://example.com/"}).status_code == 200
