import re

import pytest
import time_machine

from maintenance.models import Notice
from tests.calendars.job_runs import LATER
from tests.calendars.notices.reading import THURSDAY, reboot_of
from tests.maintenance.notices import holds, resource
from triggers.models import Trigger


@pytest.fixture(autouse=True)
def clock():
    """Wednesday, 21 October 2026, 14:32 in Berlin."""
    with time_machine.travel(LATER, tick=False) as clock:
        yield clock


@pytest.fixture
def popover(load_page, client):
    """Return a function that opens the first item of a kind and returns its template context."""

    def popover(kind: str, query: str = f"view=day&date={THURSDAY}") -> dict:
        address = re.search(rf'<a class="item {kind}" href="([^"]*)"', load_page(query))[1]
        return client.get(address).context["item"]

    return popover


@pytest.fixture
def db2(subscription):
    return resource(subscription)


@pytest.fixture
def reboot(db2) -> Notice:
    """A notice: reboot of db-2 on Thursday from 17:30 to 18:30 in Berlin."""
    return reboot_of(db2)


@pytest.fixture
def make_planned(make_job, make_trigger):
    def make(expression: str = "0 0 18 * * ?", name: str = "invoices", **fields) -> Trigger:
        job = make_job(name, schedule=None, now=LATER, **fields)
        definition = {"expression": expression, "timeZone": "Europe/Berlin"}
        return make_trigger(job, "regular", definition=definition, now=LATER)

    return make


@pytest.fixture
def invoices(make_planned):
    """A job every day at 18:00 in Berlin; its runs are held during maintenance of db-2."""
    trigger = make_planned()
    holds(trigger.job, now=LATER)
    return trigger
