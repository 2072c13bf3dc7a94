"""The schedule editor in the forms of jobs and triggers: tabs, translation, corrections and stored documents."""

import pytest

from tests.admin.forms import submitted
from tests.jobs.schedules import SCHEDULES
from triggers.models import Trigger

ADD = "/admin/jobs/job/add/"
FORMS = {
    "azure": "simple",
    "simple": "simple",
    "cron": "cron",
    "quartz": "quartz",
    "rrule": "rrule",
    "outlook": "outlook",
    "once": "once",
    "solar": "sun",
}


def change_url(job) -> str:
    return f"/admin/jobs/job/{job.pk}/change/"


@pytest.mark.parametrize("format", FORMS)
def test_stored_schedule_opens_its_tab_and_stays_as_it_is(browser, make_job, format):
    job = make_job(format=format, schedule=SCHEDULES[format])
    before = Trigger.objects.values_list("format", "definition", "anchored_at", "next_fire_at").get()

    form = submitted(browser.get(change_url(job)).text, "job_form")
    saved = browser.post(change_url(job), form | {"overlap": "allow"})

    assert form["tab"] == [FORMS[format]]
    assert saved.status_code == 302, saved.context["form"].errors
    assert Trigger.objects.values_list("format", "definition", "anchored_at", "next_fire_at").get() == before
