"""The lists of runs are read from an index for every kind of user."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import ApiToken, Membership, Role, Subscription
from jobs.models import Run
from tests.conftest import NOW

RUNS, SUBSCRIPTIONS = 4000, 40


@pytest.fixture
def history(make_job):
    """Create runs of many subscriptions, half of them of the first one, all older than a day."""
    job = make_job()
    subscriptions = Subscription.objects.bulk_create(Subscription(name=f"s{n}") for n in range(SUBSCRIPTIONS))
    Run.objects.bulk_create(
        Run(
            subscription=subscriptions[number % SUBSCRIPTIONS if number % 2 else 0],
            job=job,
            job_name="backup",
            collection_name="nightly",
            fire_at=NOW - timedelta(days=1, minutes=number),
            publish_after=NOW,
            state=Run.State.SUCCEEDED,
        )
        for number in range(RUNS)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return subscriptions


@pytest.fixture
def member(make_user):
    def member(subscriptions):
        user = make_user("mia", role=None, is_staff=True)
        Membership.objects.bulk_create(
            Membership(subscription=each, user=user, role=Role.READER) for each in subscriptions
        )
        return user

    return member


def plan_of_listing(get) -> str:
    """Return the plan of the query that reads a page of runs."""
    with CaptureQueriesContext(connection) as queries:
        assert get().status_code == 200
    [listing] = [
        query["sql"] for query in queries if "ORDER BY" in query["sql"] and '"jobs_run"."fire_at"' in query["sql"]
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {'' if connection.vendor == 'postgresql' else 'QUERY PLAN'} {listing}")
        return "\n".join(str(line[-1]) for line in cursor.fetchall())


def is_read_in_order(plan: str, indexes: str) -> bool:
    return re.search(indexes, plan) is not None and "Sort" not in plan and "TEMP B-TREE" not in plan


def test_list_of_all_runs_for_superusers_uses_an_index(client, owner, history):
    client.force_login(owner)

    plan = plan_of_listing(lambda: client.get("/admin/jobs/run/"))

    assert is_read_in_order(plan, "run_newest"), plan


# the index of all runs is as good for a subscription with half of the runs
@pytest.mark.parametrize("count, indexes", [(1, "run_of_subscription|run_newest"), (20, "run_newest")])
def test_list_of_runs_for_members_uses_an_index(client, api_of, member, history, count, indexes):
    user = member(history[:count])
    client.force_login(user)
    api = api_of(ApiToken.objects.issue(user, "tests")[1])

    plans = [plan_of_listing(lambda: client.get("/admin/jobs/run/")), plan_of_listing(lambda: api.get("/api/runs"))]

    for plan in plans:
        assert is_read_in_order(plan, indexes), plan


def test_list_of_runs_contains_only_the_subscriptions_of_the_user(client, api_of, member, history):
    user = member(history[:20])
    client.force_login(user)
    api = api_of(ApiToken.objects.issue(user, "tests")[1])

    on_page = [run.subscription for run in client.get("/admin/jobs/run/?p=3").context["cl"].result_list]
    in_api = [run["subscription"] for run in api.get("/api/runs?limit=100").json()["value"]]

    assert len(on_page) == 25
    assert set(on_page) <= set(history[:20])
    assert len(in_api) == 100
    assert set(in_api) <= {str(each.pk) for each in history[:20]}


@pytest.mark.parametrize("query, index", [("result=late", "run_late"), ("origin=error_action", "run_error_action")])
def test_lists_of_late_runs_and_of_error_actions_use_their_own_indexes(client, owner, history, query, index):
    client.force_login(owner)

    plan = plan_of_listing(lambda: client.get(f"/admin/jobs/run/?{query}"))

    assert index in plan
