"""Incarnations: in each view, equal incarnations mean equal events, also with concurrent writes."""

import json
import random
import re
from collections import defaultdict
from threading import Event, Thread

import pytest
import time_machine
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from maintenance import lifecycle, tasks
from maintenance import resources as maintenance_resources
from maintenance.models import EventScope, Notice, NoticeResource, Resource, Transition
from maintenance.visibility import EventFeed
from tests.conftest import NOW, utc
from tests.maintenance import notices
from tests.maintenance.machines import NEWEST, Machine, call, machine, post_notice, post_step

START = {"notBefore": "2026-01-01T01:00:00Z"}
LATER = utc("2026-01-01T01:00:00Z")


def read_all(token: str) -> dict:
    return call("GET", NEWEST, headers={"Metadata": "true", "Authorization": f"Bearer {token}"}).json()


# Changes that increase the incarnation


@pytest.mark.parametrize(
    "step, increment",
    [
        ("announce", 1),
        ("announce without notice", 1),
        ("approve", 1),
        ("reach not-before", 1),
        ("change the description", 1),
        ("change not-before", 1),
        ("cancel", 1),
        ("change nothing", 0),
        ("change a part of a second", 0),
        ("change what is not shown", 0),
        ("poll", 0),
        ("approve nothing", 0),
        ("announce to somebody else", 0),
        ("start too late to cancel", 0),
        ("change a label", 0),
    ],
)
def test_change_increases_the_incarnation_of_the_views_it_affects(api, db2, db3, subscription, step, increment):
    event_id = post_notice(api, db2, **START, description="Kernel")
    stranger = machine(subscription, "web-1")
    before, notice = db2.incarnation, f"/api/notices/{event_id.lower()}"
    events = db2.events()
    assert before == 2

    if step == "reach not-before":
        with time_machine.travel(LATER):
            assert (db2.incarnation, db2.events()) == (before, events)  # a poll does not change the notice
            tasks.advance()
            numbers = {db2.incarnation, db3.incarnation, db2.incarnation}
            assert db2.events() != events
        assert numbers == {before + increment}
        return
    match step:
        case "announce":
            post_notice(api, db3)
        case "announce without notice":
            post_notice(api, db3, eventStatus="Started")
        case "approve":
            db3.approve(event_id)
        case "change the description":
            assert api.patch(notice, {"description": "Firmware"}).status_code == 200
        case "change not-before":
            assert api.patch(notice, {"notBefore": "2026-01-01T02:00:00Z"}).status_code == 200
        case "cancel":
            post_step(api, event_id, "cancel")
        case "change nothing":
            assert api.patch(notice, {"description": "Kernel"}).status_code == 200
        case "change a part of a second":
            assert api.patch(notice, {"notBefore": "2026-01-01T01:00:00.9Z"}).status_code == 200
        case "change what is not shown":
            assert api.patch(notice, {"approveWhenIdle": False, "endAfterDuration": False}).status_code == 200
        case "poll":
            db3.events()
        case "approve nothing":
            db2.approve()
        case "announce to somebody else":
            post_notice(api, stranger)
        case "start too late to cancel":
            assert api.post(f"{notice}/complete").status_code == 409
        case "change a label":
            api.patch(f"/api/resources/{db2.resource.pk}", {"labels": {"rack": "r7"}})

    assert db2.incarnation == db3.incarnation == before + increment
    assert (db2.events() == events) is (increment == 0)


@pytest.mark.parametrize(
    "step, increment, status",
    [("approve", 0, 200), ("complete", 1, 200), ("cancel", 0, 409), ("complete twice", 1, 200)],
)
def test_step_of_a_started_notice_changes_the_incarnation_if_accepted(api, db2, step, increment, status):
    event_id = post_notice(api, db2, eventStatus="Started")
    before = db2.incarnation

    for _ in range(2 if step == "complete twice" else 1):
        response = api.post(f"/api/notices/{event_id.lower()}/{step.split()[0]}")

    assert (response.status_code, db2.incarnation - before) == (status, increment)


def test_cancelled_notice_never_returns(api, db2):
    event_id = post_notice(api, db2)
    post_step(api, event_id, "cancel")
    before = db2.document()

    for step in ("approve", "cancel"):
        post_step(api, event_id, step)
    assert api.post(f"/api/notices/{event_id.lower()}/complete").status_code == 409
    with time_machine.travel(LATER):
        assert db2.document() == before


def test_each_view_has_a_separate_incarnation(api, subscription, db2, db3, token):
    web, alone = machine(subscription, "web-1", "webs"), machine(subscription, "alone")

    post_notice(api, db2)
    post_notice(api, web, alone)
    post_notice(api, web)

    assert [each.incarnation for each in (db2, db3, web, alone)] == [2, 2, 3, 2]
    assert read_all(token)["DocumentIncarnation"] == 4


def test_incarnation_is_a_json_number(api, db2):
    EventScope.objects.filter(scope_key="").update(incarnation=1)
    post_notice(api, db2)

    text = db2.get().content.decode()

    assert '"DocumentIncarnation":2' in text


def test_due_notice_starts_once_for_all_readers(api, db2, db3):
    post_notice(api, db2, **START)

    with time_machine.travel(LATER):
        tasks.advance()
        tasks.advance()
        documents = [polling.document() for polling in (db2, db3, db3, db2)]

    assert [json.dumps(each) for each in documents] == [json.dumps(documents[0])] * 4
    assert documents[0]["DocumentIncarnation"] == 3
    assert list(Transition.objects.values_list("status", "actor")) == [("scheduled", "ada"), ("started", "the clock")]


def test_all_due_notices_are_started_together(api, db2):
    for _ in range(120):
        notices.announce(db2.resource, now=NOW)

    with time_machine.travel(NOW + notices.HOUR):
        tasks.advance()
        assert {event["EventStatus"] for event in db2.events()} == {"Started"}


def test_poll_does_not_start_a_notice(api, db2, token):
    notices.announce(db2.resource, now=NOW)

    with time_machine.travel(NOW + notices.HOUR):
        db2.events()
        read_all(token)

    assert Notice.objects.get().status == "scheduled"


# Machines that change groups


def poll(polling: Machine) -> tuple[int, str]:
    document = polling.document()
    return document["DocumentIncarnation"], json.dumps(document["Events"])


@pytest.mark.parametrize("numbers", [(1, 1), (5, 1), (1, 5), (5, 5), (5, 4), (4, 5)])
@pytest.mark.parametrize("has_events", [(True, True), (True, False), (False, True)])
def test_machine_that_changes_its_group_gets_a_higher_incarnation(api, db2, subscription, numbers, has_events):
    web = machine(subscription, "web-1", "webs")
    for polling, has in zip((db2, web), has_events, strict=True):
        if has:
            post_notice(api, polling)
    for key, number in zip(("group databases", "group webs"), numbers, strict=True):
        EventScope.objects.update_or_create(subscription=subscription, scope_key=key, defaults={"incarnation": number})
    before = poll(db2)

    api.patch(f"/api/resources/{db2.resource.pk}", {"scopeGroup": "webs"})
    after = poll(db2)

    assert after[0] > before[0]
    assert poll(web) == after


def test_incarnation_of_a_group_increases_if_a_member_with_events_leaves(api, db2, db3):
    post_notice(api, db2)
    before = db3.document()

    api.patch(f"/api/resources/{db2.resource.pk}", {"scopeGroup": ""})

    assert (before["DocumentIncarnation"], len(before["Events"])) == (2, 1)
    assert (db3.incarnation, db3.events()) == (3, [])
    assert len(db2.events()) == 1


def test_incarnation_of_a_group_increases_if_a_member_with_events_is_deleted(api, db2, db3, subscription):
    web = machine(subscription, "web-1")
    post_notice(api, db2, web)

    api.delete(f"/api/resources/{db2.resource.pk}")

    assert (db3.incarnation, db3.events()) == (3, [])
    assert web.events()[0]["Resources"] == ["db-2", "web-1"]
    again = machine(subscription, "db-2", "databases")
    assert again.document() == {"DocumentIncarnation": 3, "Events": []}


# Concurrent writes


@pytest.mark.parametrize("reader", ["a machine", "somebody who reads everything"])
def test_events_that_change_during_a_read_are_read_again(db2, owner, reader):
    """The events change just after the incarnations were read, which is the worst case."""
    resource = db2.resource
    notice = notices.announce(db2.resource, now=NOW)
    changes = iter([lambda: notices.start(notice, NOW), lambda: notices.complete(notice, NOW)])

    class ChangingFeed(EventFeed):
        def load_incarnations(self):
            incarnations = super().load_incarnations()
            next(changes, lambda: None)()
            return incarnations

    feed = (
        ChangingFeed.for_resource(resource)
        if reader == "a machine"
        else ChangingFeed((resource.subscription_id,), user=owner)
    )
    assert feed.read_snapshot() == (4, [])


def test_machine_that_changes_its_group_during_a_read_gets_no_events_of_the_new_group(db2, subscription):
    web = machine(subscription, "web-1", "webs")
    notices.announce(web.resource, now=NOW)
    stale = Resource.objects.get(pk=db2.resource.pk)
    maintenance_resources.change(db2.resource, scope_group="webs")

    number, shown = EventFeed.for_resource(stale).read_snapshot()

    assert (number, shown) == (EventScope.objects.get(scope_key="group databases").incarnation, [])


@pytest.mark.django_db(transaction=True)
def test_equal_incarnations_mean_equal_events_with_concurrent_writes(clock, unlimited, subscription, token):
    """Machines and users poll, while other threads announce, approve, change, complete and cancel notices."""
    polling = [machine(subscription, f"db-{number}", "databases" if number < 2 else "") for number in range(3)]
    done, raised, events_by_incarnation = Event(), [], defaultdict(set)

    def in_own_connection(work, *arguments):
        try:
            work(*arguments)
        except Exception as error:
            raised.append(error)
        finally:
            connection.close()

    def write(seed: int) -> None:
        choice = random.Random(seed)
        resources = [each.resource for each in polling]
        for _ in range(6):
            some = choice.sample(resources, choice.randint(1, 3))
            notice = notices.announce(*some, now=NOW, has_started=choice.random() < 0.2)
            if notice.status == Notice.Status.SCHEDULED:
                lifecycle.change(notice, {"description": f"{choice.random()}"}, "ada", NOW)
                choice.choice([notices.start, notices.cancel])(notice, NOW)
            notice.refresh_from_db()
            if notice.status == Notice.Status.STARTED:
                notices.complete(notice, NOW)

    def read(each: Machine) -> None:
        while not done.is_set():
            number, events = poll(each)
            events_by_incarnation[each.resource.scope_key, number].add(events)

    def read_all_repeatedly() -> None:
        newest = 0
        while not done.is_set():
            document = read_all(token)
            events_by_incarnation["everything", document["DocumentIncarnation"]].add(json.dumps(document["Events"]))
            assert newest <= (newest := document["DocumentIncarnation"])

    writers = [Thread(target=in_own_connection, args=(write, seed)) for seed in range(3)]
    readers = [Thread(target=in_own_connection, args=(read, each)) for each in polling * 2]
    readers += [Thread(target=in_own_connection, args=(read_all_repeatedly,)) for _ in range(2)]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()

    assert raised == []
    assert len(events_by_incarnation) > 20
    assert {key: events for key, events in events_by_incarnation.items() if len(events) > 1} == {}
    assert all(each.events() == [] for each in polling)


# Number of queries


def poll_queries(polling: Machine, minute: int = 1) -> list[str]:
    """Return the queries of a poll at `minute` minutes after the hour."""
    at = NOW + minute * notices.MINUTE
    with time_machine.travel(at, tick=False), CaptureQueriesContext(connection) as queries:
        assert polling.get().status_code == 200
    return [query["sql"] for query in queries.captured_queries]


def explain(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {'' if connection.vendor == 'postgresql' else 'QUERY PLAN '}{sql}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def test_poll_takes_at_most_six_queries(api, db2, db3):
    empty = poll_queries(db2)
    for _ in range(30):
        post_notice(api, db2, db3)

    full = poll_queries(db2, minute=2)

    # authentication, last seen time, incarnation, events, resources of events if any, incarnation again
    assert (len(empty), len(full)) == (5, 6)


def test_poll_writes_only_the_last_seen_time(api, db2):
    post_notice(api, db2)

    first, second = poll_queries(db2), poll_queries(db2)

    def filter_writes(queries):
        return [sql for sql in queries if not sql.startswith("SELECT")]

    assert ["last_seen_at" in sql for sql in filter_writes(first)] == [True]
    assert filter_writes(second) == []


def test_poll_of_all_events_takes_nine_queries(api, db2, token):
    post_notice(api, db2)
    read_all(token)

    with CaptureQueriesContext(connection) as queries:
        read_all(token)

    assert len(queries) == 9


def add_notices(polling: Machine, count: int, **fields) -> None:
    rows = Notice.objects.bulk_create(
        Notice(
            subscription=polling.resource.subscription,
            event_type="Reboot",
            not_before=NOW,
            announced_at=NOW,
            **{"status": "completed", "ended_at": NOW, **fields},
        )
        for _ in range(count)
    )
    NoticeResource.objects.bulk_create(
        NoticeResource(notice=row, resource=polling.resource, name=polling.name) for row in rows
    )


def analyze() -> None:
    """Update the statistics, as PostgreSQL does automatically and SQLite never does."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


BY_STATUS = re.compile(  # searched by the status, and not only by the subscription
    r"notice_shown|notice_of_status[^\n]*(\(subscription_id=\? AND |\n *Index Cond: [^\n]*)\(?status"
)


@pytest.mark.parametrize("group", ["databases", ""])
def test_poll_does_not_read_ended_notices(api, subscription, unlimited, clock, group):
    """The query plans of both databases use an index of open notices."""
    polls = machine(subscription, "db-1", group)
    add_notices(polls, 3000)
    post_notice(api, polls)
    analyze()

    poll_queries(polls)
    statements = [sql for sql in poll_queries(polls) if 'FROM "maintenance_notice"' in sql]
    plans = [explain(sql) for sql in statements]

    assert len(plans) == 1
    for plan in plans:
        assert BY_STATUS.search(plan), plan
        assert "affected_once" in plan or "sqlite_autoindex_maintenance_noticeresource" in plan, plan
        assert "Seq Scan on maintenance_notice" not in plan
        assert "SCAN maintenance" not in plan


def test_incarnations_are_found_by_index(db2):
    EventScope.objects.bulk_create(
        EventScope(subscription=db2.resource.subscription, scope_key=f"group {n}") for n in range(3000)
    )
    analyze()

    plan = EventScope.objects.filter(subscription=db2.resource.subscription, scope_key="group 7").explain()

    assert "view_once" in plan or "sqlite_autoindex_maintenance_eventscope" in plan, plan
    assert EventScope.objects.filter(incarnation=F("incarnation")).count() == 3000
