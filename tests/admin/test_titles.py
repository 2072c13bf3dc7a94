"""Page titles: the text of the heading."""

import re

import pytest
from django_celery_beat.models import IntervalSchedule, PeriodicTask


@pytest.mark.parametrize(
    "address, title",
    [
        ("/admin/jobs/job/", "Jobs"),
        ("/admin/jobs/run/", "Runs"),
        ("/admin/operations/operation/", "Operations"),
        ("/admin/accounts/user/", "Users"),
        ("/admin/accounts/user/add/", "New user"),
        ("/admin/accounts/user/{owner.pk}/change/", "ada"),
        ("/admin/accounts/user/{owner.pk}/password/", "Set the password of ada"),
        ("/admin/accounts/user/{owner.pk}/delete/", "Delete ada"),
        ("/admin/jobs/job/{job.pk}/delete/", "Delete backup"),
        ("/admin/jobs/job/{job.pk}/history/", "Changes of backup"),
        ("/admin/django_celery_beat/", "Housekeeping"),
        ("/admin/django_celery_beat/periodictask/", "Periodic tasks"),
    ],
)
def test_page_title_is_the_heading(browser, owner, job, address, title):
    page = browser.get(address.format(owner=owner, job=job)).text

    assert re.search("<title>(.*)</title>", page)[1] == f"{title} · Quando"
    assert re.search(r"<h1[^>]*>([^<]*)", page)[1] == title


def test_title_of_a_refused_form_starts_with_error(browser):
    page = browser.post("/admin/accounts/user/add/", {"username": ""}).text

    assert "<title>Error: New user · Quando</title>" in page


def test_title_of_a_deletion_has_the_number_of_rows(browser, job):
    page = browser.post("/admin/jobs/job/", {"action": "delete_selected", "_selected_action": [job.pk]}).text

    assert "<title>Delete 1 job · Quando</title>" in page


def test_columns_of_periodic_tasks_have_short_names(browser):
    every_minute, _ = IntervalSchedule.objects.get_or_create(every=1, period=IntervalSchedule.MINUTES)
    PeriodicTask.objects.create(name="tidy", task="tidy", interval=every_minute)

    page = browser.get("/admin/django_celery_beat/periodictask/").text

    columns = re.findall(r'class="[^"]*\bcolumn-(?!action)[^"]*"[^>]*>\s*(?:<[^>]*>\s*)*([A-Z][^<]*)<', page)
    assert columns == ["Name", "Enabled", "Schedule", "Last run"]
