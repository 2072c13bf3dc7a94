"""A user who is not staff: sign-in, account pages and tokens, in the language of the user."""

import re

import pytest
from playwright.sync_api import expect

from accounts.models import Role, User
from tests.browser.conftest import press_in_sequence
from tests.browser.layout import scrolls_sideways

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def signed_in(open_page, make_user):
    def open_(**fields):
        make_user("mira", Role.READER, **fields)
        page = open_page()
        page.goto("/account/")
        page.locator("#id_username").fill("mira")
        page.locator("#id_password").fill("correct horse")
        page.locator("#id_password").press("Enter")
        page.wait_for_url("**/account/")
        return page

    return open_


def test_chosen_language_and_clock_format_are_saved(signed_in):
    page = signed_in()

    page.get_by_label("Language", exact=True).select_option("de")
    page.get_by_label("Time format").select_option("12")
    page.get_by_role("button", name="Save changes").click()

    expect(page.get_by_role("status")).to_contain_text("Gespeichert.")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator(".local-time time")).to_have_text(re.compile(r"^\d{1,2}:\d\d [AP]M$"))
    assert User.objects.get().language == "de"


def test_two_keys_open_the_calendar(signed_in):
    page = signed_in()

    press_in_sequence(page, "g", "c")

    page.wait_for_url("**/calendar/")


def test_token_is_created_and_revoked(signed_in):
    page = signed_in()
    page.get_by_role("main").get_by_role("link", name="API tokens").click()
    page.get_by_label("Name").fill("ci")
    page.get_by_role("button", name="Create token").click()
    expect(page.locator("#token")).to_be_visible()

    page.get_by_role("link", name="Done").click()
    page.get_by_role("link", name="Revoke ci…").click()
    page.get_by_role("button", name="Revoke").click()

    expect(page.get_by_role("status")).to_contain_text("Revoked: ci")


@pytest.mark.parametrize("language", ["de", "pt-br", "tr"])
def test_translated_account_pages_are_accessible_and_fit_a_phone(signed_in, find_accessibility_faults, language):
    page = signed_in(language=language, is_staff=True)
    page.set_viewport_size({"width": 390, "height": 844})
    faults = []

    for address in ("/account/", "/account/tokens/", "/account/password/"):
        page.goto(address)
        faults += [f"{address} {fault}" for fault in find_accessibility_faults(page)]
        if scrolls_sideways(page):
            faults.append(f"{address} scrolls sideways")

    assert not faults, "\n".join(faults)
