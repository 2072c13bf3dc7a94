"""Open the form of an event, fill it in and submit it."""

import re

import pytest

from tests.admin.forms import submitted


@pytest.fixture
def fill(browser):
    """Return a function that loads a page with the form, fills in values as a user does, and submits it."""

    def fill_(address="/calendar/events/new", to=None, **values_to_fill):
        page = browser.get(address).content.decode()
        values = submitted(page, "event_form") | values_to_fill
        target = to or re.search(r'action="([^"]+)" novalidate', page)[1].replace("&amp;", "&")
        return browser.post(target, values)

    return fill_
