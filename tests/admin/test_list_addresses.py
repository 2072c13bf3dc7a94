"""Whatever stands in the address of a list, or in a form sent to it, is answered and changes nothing."""

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
@pytest.mark.parametrize("of", LISTS)
def test_a_list_takes_any_address(browser, of, query):
    answer = browser.get(f"/admin/{of}/?{query}", follow=True)

    assert answer.status_code in (200, 400)


@pytest.mark.parametrize("of", LISTS)
def test_a_list_of_one_page_takes_any_form(browser, of):
    for form in (
        {},
        {"action": "x"},
        {"action": "", "index": "x"},
        {"action": LISTS[of], "index": "99"},
        {"action": LISTS[of], "confirmed": "yes", "post": "yes"},  # nothing is ticked
        {"_save": "1", "form-TOTAL_FORMS": "x"},
    ):
        assert browser.post(f"/admin/{of}/", form).status_code < 500

    assert Operation.objects.get().cancel_requested_at is None
