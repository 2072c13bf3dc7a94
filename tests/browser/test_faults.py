"""Which faults on a page fail a test in the browser."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import collect_faults

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def form(open_page, sign_in, owner):
    """The form of a new event whose first preview gets no response."""
    page = sign_in(open_page())
    page.goto("/calendar/events/new?start=2098-10-08T10:00")
    pending_routes = []
    page.route("**/preview", lambda route: pending_routes.append(route), times=1)
    with page.expect_request("**/preview"):
        page.get_by_label("Starts").fill("2098-10-09T14:00")
    yield page
    for route in pending_routes:
        route.abort()  # the request no longer exists; this ends its route handler


def test_request_replaced_by_a_newer_one_is_no_fault(form):
    form.get_by_label("Starts").fill("2098-10-10T14:00")

    expect(form.get_by_role("complementary", name="Preview")).to_contain_text("Fri 10 October 2098")


def test_open_request_of_a_left_page_is_no_fault(form):
    form.get_by_role("link", name="Cancel").click()

    expect(form.locator(".month")).to_be_visible()


@pytest.mark.parametrize("reason", ["connectionreset", "failed", "timedout"])
def test_failed_request_is_a_fault(chromium, live_server, reason):
    faults = []
    page = chromium.new_page(base_url=live_server.url)
    page.goto("/sign-in/")
    collect_faults(page, live_server.url, faults)
    page.route("**/*", lambda route: route.abort(reason))

    page.evaluate("fetch('/sign-in/').catch(() => null)")

    page.close()
    assert any("net::ERR" in fault and "/sign-in/" in fault for fault in faults)
