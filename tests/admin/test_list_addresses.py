"""Lists with any query or form return a response without an error, and change nothing."""

import pytest
from django.utils import timezone

from operations.models import Operation
from operations.service import Caller
from triggers.collection_operations import DISABLE, start_operation

LISTS = {
    "jobs/job": "run_ticked",
    "jobs/jobcollection": "delete_selected",
    "jobs/run": "",
    "maintenance/notice": "",
    "maintenance/resource": "",
    "operations/operation": "cancel_ticked",
    "triggers/trigger": "",
}


@pytest.fixture(autouse=True)
def rows(make_job, make_run, make_trigger):
    job = make_job()
    make_run(job)
    make_trigger(job)
    start_operation(DISABLE, job.collection, Caller(), timezone.now())


@pytest.mark.parametrize(
    "query",
    [
        *("p=0", "p=-1", "p=2", "p=9999999999999999999999", "p=x", "p=1.5", "all=", "o=1.2.3", "o=x", "_facets=1"),
        *("q=%00", "q=%ED%A0%80", "q=" + "a" * 5000, "q=" + "a+" * 2000, "e=1", "_popup=1", "_to_field=x"),
        *("state=x", "state__exact=%00", "state__exact=x", "state__in=a,b", "state__isnull=x", "hours=%00", "days=-1"),
        *("result=x", "collection=" + "9" * 30, "enabled=%00", "format=%00", "group=%00", "created_at__gte=x"),
        *("requested_by__password__startswith=p", "lease_token__isnull=0", "subscription__name=x"),
    ],
)
@pytest.mark.parametrize("model", LISTS)
def test_list_accepts_any_query(browser, model, query):
    response = browser.get(f"/admin/{model}/?{query}", follow=True)

    assert response.status_code in (200, 400)


@pytest.mark.parametrize("model", LISTS)
def test_list_accepts_any_form(browser, model):
    for form in (
        {},
        {"action": "x"},
        {"action": "", "index": "x"},
        {"action": LISTS[model], "index": "99"},
        {"action": LISTS[model], "confirmed": "yes", "post": "yes"},  # no selected rows
        {"_save": "1", "form-TOTAL_FORMS": "x"},
    ):
        assert browser.post(f"/admin/{model}/", form).status_code < 500

    assert Operation.objects.get().cancel_requested_at is None
