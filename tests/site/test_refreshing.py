"""Open pages are refreshed in place: only their parts are returned, or 304 if nothing has changed."""

import re

import pytest
import time_machine

from jobs import outages
from jobs.models import Job, LastPass, Run
from tests.conftest import utc

REFRESH_HEADERS = {"HX-Request": "true", "HX-Trigger": "refresh"}


@pytest.fixture
def browser(client, owner):
    client.force_login(owner)
    return client


def pages(job, run) -> list[str]:
    return [
        *("/admin/", "/admin/jobs/job/", "/admin/jobs/run/", "/admin/triggers/trigger/"),
        *(f"/admin/jobs/job/{job.pk}/", f"/admin/jobs/run/{run.pk}/change/"),
    ]


@pytest.fixture
def run(make_job):
    job = make_job()
    return Run.objects.create(
        **{"job": job, "action": job.action, "subscription": job.collection.subscription, "state": "running"},
        **{"job_name": job.name, "collection_name": job.collection.name, "fire_at": utc("2026-11-04T12:31:00Z")},
        publish_after=utc("2026-11-04T12:31:00Z"),
        started_at=utc("2026-11-04T12:31:01Z"),
    )


def test_refresh_returns_only_parts_of_the_page_and_304_if_nothing_changed(browser, run):
    for address in pages(run.job, run):
        with time_machine.travel("2026-11-04T12:31:30Z", tick=False):
            first = browser.get(address, headers=REFRESH_HEADERS)
        with time_machine.travel("2026-11-04T12:31:32Z", tick=False):
            again = browser.get(address, headers={**REFRESH_HEADERS, "If-None-Match": first["ETag"]})

        assert "<html" not in first.text, address
        assert 'id="refresh"' in first.text, address
        if address != "/admin/":  # its ruler of the next two hours moves
            assert (again.status_code, again.content) == (304, b""), address


def test_refresh_returns_a_changed_page(browser, run):
    address = f"/admin/jobs/run/{run.pk}/change/"
    before = browser.get(address, headers=REFRESH_HEADERS)
    Run.objects.update(state=Run.State.SUCCEEDED, finished_at=utc("2026-11-04T12:31:05Z"))

    after = browser.get(address, headers={**REFRESH_HEADERS, "If-None-Match": before["ETag"]})

    assert after.status_code == 200
    assert "Succeeded" in after.text
    assert re.search(r'id="refresh"[^>]*hx-get', before.text)
    assert not re.search(r'id="refresh"[^>]*hx-get', after.text)  # nothing more will happen


def test_refresh_updates_the_outages_card_when_an_outage_ends(browser, run):
    with time_machine.travel("2026-11-04T12:31:30Z", tick=False):
        LastPass.objects.create(pk=outages.ONLY, at=utc("2026-11-04T12:31:00Z"))
        before = browser.get("/admin/", headers=REFRESH_HEADERS)
    with time_machine.travel("2026-11-04T12:32:30Z", tick=False):
        during = browser.get("/admin/", headers=REFRESH_HEADERS)
        outages.record_pass(utc("2026-11-04T12:32:30Z"))
        after = browser.get("/admin/", headers=REFRESH_HEADERS)

    assert 'id="outages-card" data-refresh="whole" hidden' in before.text
    assert 'id="certificates-card" data-refresh="whole" hidden' in before.text
    card = re.compile(r'id="outages-card" data-refresh="whole">(.*?)</section>', re.DOTALL)
    assert "The scheduler has not run since 12:31:00" in card.search(during.text)[1]
    assert "The scheduler did not run from 12:31:00 to 12:32:30" in card.search(after.text)[1]


def test_rows_of_lists_have_ids(browser, run):
    runs = browser.get("/admin/jobs/run/", headers=REFRESH_HEADERS).text
    jobs = browser.get("/admin/jobs/job/", headers=REFRESH_HEADERS).text

    assert f'<tr role="row" id="row-{run.pk}">' in runs
    assert f'<tr role="row" id="row-{Job.objects.get().pk}">' in jobs
    assert 'id="rows" data-refresh="rows"' in runs
    assert 'id="rows" data-refresh="rows"' in jobs


def test_refresh_does_not_consume_messages(browser, run):
    browser.post(f"/admin/jobs/job/{run.job.pk}/state/", {"state": "disabled"})
    browser.get("/admin/jobs/job/", headers=REFRESH_HEADERS)

    assert 'role="status" data-state="success"' in browser.get("/admin/jobs/job/").text
