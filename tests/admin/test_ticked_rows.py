"""Selected rows in list forms: invalid keys are refused, and nothing is done."""

import pytest

LISTS = {
    "accounts/apitoken": "delete_selected",
    "accounts/subscription": "delete_selected",
    "accounts/user": "delete_selected",
    "django_celery_beat/periodictask": "delete_selected",
    "jobs/job": "run_ticked",
    "jobs/jobcollection": "delete_selected",
    "operations/operation": "cancel_ticked",
}


@pytest.mark.parametrize("key", ["x", "", "%00", "\0", "9" * 25, "9" * 5000, "1e3", "[1]"])
@pytest.mark.parametrize("rows", LISTS)
def test_invalid_selected_key_is_refused(browser, owner, make_job, rows, key):
    make_job()
    form = {"action": LISTS[rows], "_selected_action": [key], "confirmed": "yes", "post": "yes"}

    assert browser.post(f"/admin/{rows}/", form).status_code == 400


@pytest.mark.parametrize("rows", ["jobs/job", "accounts/user"])
def test_unknown_selected_key_is_ignored(browser, owner, make_job, rows):
    make_job()

    assert browser.post(f"/admin/{rows}/", {"action": LISTS[rows], "_selected_action": ["99"]}).status_code < 400
