"""The pages made from the description of our API."""

import pytest

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
