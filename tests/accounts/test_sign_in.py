"""Signing in and out, and redirects that stay on the site."""

import pytest

SIGN_IN = {"username": "ada", "password": "correct horse"}


@pytest.fixture
def ada(make_user):
    return make_user("ada")


@pytest.fixture
def browser(client, ada):
    client.force_login(ada)
    return client


def test_user_signs_in_without_being_staff(client, ada):
    response = client.post("/sign-in/", SIGN_IN, follow=True)

    assert response.request["PATH_INFO"] == "/admin/"
    assert response.context["user"] == ada


def test_sign_in_redirects_to_the_requested_page(client, ada):
    assert client.post("/sign-in/?next=/account/tokens/", SIGN_IN).url == "/account/tokens/"


@pytest.mark.parametrize(
    "target",
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
def test_sign_in_never_redirects_to_other_sites_or_in_a_loop(client, ada, target):
    form = client.get("/sign-in/", {"next": target})
    signed_in = client.post("/sign-in/", {**SIGN_IN, "next": target}, follow=True)
    again = client.get("/sign-in/", {"next": target}, follow=True)

    assert "example.com" not in form.text
    assert signed_in.request["PATH_INFO"] == again.request["PATH_INFO"] == "/admin/"


def test_too_long_redirect_target_is_ignored(client, ada):
    assert client.post("/sign-in/", {**SIGN_IN, "next": "/" + "x" * 5000}).url == "/"


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"username": "ada", "password": "wrong"}, "The user name or the password is incorrect."),
        ({"username": "nobody", "password": "correct horse"}, "The user name or the password is incorrect."),
        ({"username": "a\x00da", "password": "correct horse"}, "Null characters are not allowed."),
        ({"username": "a" * 100_000, "password": "x"}, "The user name or the password is incorrect."),
        ({"password": "correct horse"}, "This field is required."),
    ],
)
def test_sign_in_error_is_shown_in_the_form(client, ada, fields, words):
    response = client.post("/sign-in/", fields)

    assert words in response.text
    assert not response.wsgi_request.user.is_authenticated


def test_inactive_account_gets_the_same_error_as_an_unknown_one(client, ada):
    ada.is_active = False
    ada.save()

    assert "is incorrect" in client.post("/sign-in/", SIGN_IN).text


def test_sign_in_is_refused_after_ten_wrong_passwords(client, ada):
    for _ in range(10):
        client.post("/sign-in/", {"username": "ada", "password": "wrong"})

    response = client.post("/sign-in/", SIGN_IN)

    assert "Too many failed attempts" in response.text
    assert not response.wsgi_request.user.is_authenticated


def test_failures_of_apis_and_form_are_counted_together(client, api_of, ada):
    for _ in range(10):
        api_of().get("/api/tokens", headers={"Authorization": "Basic YWRhOndyb25n"})

    assert "Too many failed attempts" in client.post("/sign-in/", SIGN_IN).text


def test_sign_in_page_redirects_a_signed_in_user(browser):
    assert browser.get("/sign-in/?next=/account/").url == "/account/"
    assert browser.get("/sign-in/").url == "/"


def test_htmx_request_without_a_session_reloads_the_page(client, db):
    response = client.get("/account/", headers={"HX-Request": "true"}, follow=True)

    assert response["HX-Refresh"] == "true"


def test_sign_out_requires_post(browser):
    assert browser.get("/sign-out/").status_code == 405
    response = browser.post("/sign-out/")

    assert "Signed out" in response.text
    assert not response.wsgi_request.user.is_authenticated


def test_sign_out_never_redirects_to_other_sites(browser):
    assert browser.post("/sign-out/", {"next": "https://example.com/"}).status_code == 200
