"""Open pages refresh changed content; content that the user reads or uses stays in place."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from jobs.models import Run

pytestmark = pytest.mark.django_db(transaction=True)


def make_run(job, minutes_ago: int, **fields) -> Run:
    at = timezone.now() - timedelta(minutes=minutes_ago)
    names = {"job_name": job.name, "collection_name": job.collection.name}
    relations = {"job": job, "action": job.action, "subscription": job.collection.subscription}
    return Run.objects.create(fire_at=at, publish_after=at, started_at=at, **relations, **names, **fields)


def finish(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(state=Run.State.FAILED, finished_at=timezone.now())


def test_rows_refresh_in_place_and_newer_ones_are_offered(open_page, sign_in, owner, make_job):
    job = make_job()
    older, newer = make_run(job, 9, state="running"), make_run(job, 8, state="running")
    page = sign_in(open_page())
    page.goto("/admin/jobs/run/")
    row = page.locator(f"#row-{older.pk}")
    expect(row).to_contain_text("Running")
    expect(page.get_by_text("Show newer entries")).to_be_hidden()
    page.locator(f"#row-{newer.pk}").get_by_role("link").first.focus()
    position = row.bounding_box()

    finish(older)
    finish(newer)
    make_run(job, 1, state="running")
    page.clock.fast_forward(10_500)

    expect(row).to_contain_text("Failed")
    assert row.bounding_box() == position
    expect(page.locator("#rows tbody tr")).to_have_count(2)
    expect(page.locator(f"#row-{newer.pk}")).to_contain_text("Running")  # the focus is in this row
    page.locator(f"#row-{newer.pk}").get_by_role("link").first.blur()
    page.clock.fast_forward(10_500)
    expect(page.locator(f"#row-{newer.pk}")).to_contain_text("Failed")
    page.get_by_role("link", name="Show newer entries").click()
    expect(page.locator("#rows tbody tr")).to_have_count(3)


@pytest.mark.parametrize("width", [390, 1280])
def test_offer_of_newer_entries_does_not_cover_the_last_row(open_page, sign_in, owner, make_job, width):
    job = make_job()
    for minutes in range(30, 2, -1):
        make_run(job, minutes, state="running")
    page = sign_in(open_page(width=width))
    page.goto("/admin/jobs/run/")

    make_run(job, 1, state="running")
    page.clock.fast_forward(10_500)
    offer = page.get_by_text("Show newer entries")
    expect(offer).to_be_visible()
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")

    row = page.locator("#rows tbody tr").last.bounding_box()
    assert row["y"] + row["height"] <= page.locator("#newer").bounding_box()["y"]


def test_home_cards_and_run_page_refresh(open_page, sign_in, owner, make_job):
    run = make_run(make_job(), 2, state="running")
    page = sign_in(open_page())
    page.goto("/admin/")
    expect(page.locator("#running-now-card")).to_contain_text("backup")
    finish(run)
    page.clock.fast_forward(10_500)
    expect(page.locator("#running-now-card")).to_contain_text("None.")
    expect(page.locator("#failed-last-card")).to_contain_text("backup")

    run = make_run(run.job, 1, state="running")
    page.goto(f"/admin/jobs/run/{run.pk}/change/")
    expect(page.locator("#run-head")).to_contain_text("Running")
    finish(run)
    page.clock.fast_forward(2_500)
    expect(page.locator("#run-head")).to_contain_text("Failed")
    expect(page.locator("#refresh[hx-get]")).to_have_count(0)
