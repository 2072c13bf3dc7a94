"""The pages made from the description of our API."""

import re

import pytest

from tests.browser.layout import find_overflow

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_signed_in_reader_tries_a_request_out(open_page, sign_in, owner):
    page = sign_in(open_page())
    page.goto("/api/docs/")
    operation = page.locator("#operations-schedules-previewSchedule")

    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()

    answer = operation.locator(".live-responses-table .response").first
    answer.wait_for()
    assert answer.locator(".response-col_status").inner_text().strip() == "200"
    assert "every day at 05:00 UTC" in answer.inner_text()


def test_the_pages_are_dark_with_the_others_and_lead_back(open_page, sign_in, owner):
    page = sign_in(open_page("dark", width=390))
    page.goto("/api/docs/")
    block = page.locator("#operations-schedules-previewSchedule")
    block.wait_for()

    def lightness(element: str) -> float:
        """0 is black and 255 is white; what is transparent counts as black."""
        colour = page.locator(element).first.evaluate("element => getComputedStyle(element).backgroundColor")
        return max(map(float, re.findall(r"[\d.]+", colour)[:3]))

    dark = [lightness(element) for element in ("html", "body", ".swagger-ui", ".scheme-container", ".opblock")]
    assert max(dark) < 64
    assert find_overflow(page, 390, 1280) == []
    page.get_by_label("Account and settings of ada").click()
    page.get_by_role("button", name="Light").click()
    assert lightness(".scheme-container") == 255
    page.get_by_role("link", name="Quando, home").click()
    page.wait_for_url("**/admin/")
