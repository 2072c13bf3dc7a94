"""Somebody who opens the form of an event, writes into it and sends it."""

import re

import pytest
import time_machine

from tests.admin.forms import submitted


@pytest.fixture(autouse=True)
def today():
    """A page leaves out the year while it is this one."""
    with time_machine.travel("2026-01-01T12:00Z"):
        yield


@pytest.fixture
def browser(client, owner):
    owner.time_zone = "Europe/Berlin"
    owner.save()
    client.force_login(owner)
    return client


@pytest.fixture
def fill(browser):
    """Open a page with the form, write into it as a person would, and send it."""

    def fill_(address="/calendar/events/new", to=None, **written):
        page = browser.get(address).content.decode()
        values = submitted(page, "event_form") | written
        target = to or re.search(r'action="([^"]+)" novalidate', page)[1].replace("&amp;", "&")
        return browser.post(target, values)

    return fill_
