"""The pages of the API documentation."""

import re

import pytest

from tests.browser.layout import find_overflow

pytestmark = pytest.mark.django_db(transaction=True)


def test_signed_in_user_can_try_out_a_request(open_page, sign_in, owner):
    page = sign_in(open_page())
    page.goto("/api/docs/")
    operation = page.locator("#operations-schedules-previewSchedule")

    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()

    response = operation.locator(".live-responses-table .response").first
    response.wait_for()
    assert response.locator(".response-col_status").inner_text().strip() == "200"
    assert "every day at 05:00 UTC" in response.inner_text()


def test_api_docs_follow_the_theme_and_link_back(open_page, sign_in, owner):
    page = sign_in(open_page("dark", width=390))
    page.goto("/api/docs/")
    block = page.locator("#operations-schedules-previewSchedule")
    block.wait_for()

    def lightness(element: str) -> float:
        """Return 0 for black to 255 for white. A transparent background is black."""
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
