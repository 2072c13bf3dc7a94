"""The form of an event, opened, written into and sent."""

import re

import pytest

from tests.admin.forms import submitted


@pytest.fixture
def fill(browser):
    """Open a page with the form, write into it as a person would, and send it."""

    def fill_(address="/calendar/events/new", to=None, **written):
        page = browser.get(address).content.decode()
        values = submitted(page, "event_form") | written
        target = to or re.search(r'action="([^"]+)" novalidate', page)[1].replace("&amp;", "&")
        return browser.post(target, values)

    return fill_
