"""Equal numbers mean equal events, in each view, whatever happens and whoever writes meanwhile."""

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
from tests.maintenance.machines import NEWEST, Machine, announced, call, machine, moved

START = {"notBefore": "2026-01-01T01:00:00Z"}
LATER = utc("2026-01-01T01:00:00Z")


def everything(token: str) -> dict:
    return call("GET", NEWEST, headers={"Metadata": "true", "Authorization": f"Bearer {token}"}).json()


# What counts


@pytest.mark.parametrize(
    "step, by",
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
def test_a_step_counts_up_the_view_that_it_changes(api, db2, db3, subscription, step, by):
    event_id = announced(api, db2, **START, description="Kernel")
    stranger = machine(subscription, "web-1")
    before, notice = db2.incarnation, f"/api/notices/{event_id.lower()}"
    events = db2.events()
    assert before == 2

    if step == "reach not-before":
        with time_machine.travel(LATER):
            assert (db2.incarnation, db2.events()) == (before, events)  # a poll changes nothing
            tasks.advance()
            numbers = {db2.incarnation, db3.incarnation, db2.incarnation}
            assert db2.events() != events
        assert numbers == {before + by}
        return
    match step:
        case "announce":
            announced(api, db3)
        case "announce without notice":
            announced(api, db3, eventStatus="Started")
        case "approve":
            db3.approve(event_id)
        case "change the description":
            assert api.patch(notice, {"description": "Firmware"}).status_code == 200
        case "change not-before":
            assert api.patch(notice, {"notBefore": "2026-01-01T02:00:00Z"}).status_code == 200
        case "cancel":
            moved(api, event_id, "cancel")
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
            announced(api, stranger)
        case "start too late to cancel":
            assert api.post(f"{notice}/complete").status_code == 409
        case "change a label":
            api.patch(f"/api/resources/{db2.resource.pk}", {"labels": {"rack": "r7"}})

    assert db2.incarnation == db3.incarnation == before + by
    assert (db2.events() == events) is (by == 0)


@pytest.mark.parametrize(
    "step, by, status", [("approve", 0, 200), ("complete", 1, 200), ("cancel", 0, 409), ("complete twice", 1, 200)]
)
def test_a_step_of_what_has_started(api, db2, step, by, status):
    event_id = announced(api, db2, eventStatus="Started")
    before = db2.incarnation

    for _ in range(2 if step == "complete twice" else 1):
        response = api.post(f"/api/notices/{event_id.lower()}/{step.split()[0]}")

    assert (response.status_code, db2.incarnation - before) == (status, by)


def test_what_is_gone_stays_gone(api, db2):
    event_id = announced(api, db2)
    moved(api, event_id, "cancel")
    before = db2.document()

    for step in ("approve", "cancel"):
        moved(api, event_id, step)
    assert api.post(f"/api/notices/{event_id.lower()}/complete").status_code == 409
    with time_machine.travel(LATER):
        assert db2.document() == before


def test_every_view_has_a_number_of_its_own(api, subscription, db2, db3, token):
    web, alone = machine(subscription, "web-1", "webs"), machine(subscription, "alone")

    announced(api, db2)
    announced(api, web, alone)
    announced(api, web)

    assert [each.incarnation for each in (db2, db3, web, alone)] == [2, 2, 3, 2]
    assert everything(token)["DocumentIncarnation"] == 4


def test_a_number_is_a_json_number_within_31_bits(api, db2):
    EventScope.objects.filter(scope_key="").update(incarnation=1)
    announced(api, db2)

    text = db2.get().content.decode()

    assert '"DocumentIncarnation":2' in text


def test_not_before_starts_once_however_many_look_after_it(api, db2, db3):
    announced(api, db2, **START)

    with time_machine.travel(LATER):
        tasks.advance()
        tasks.advance()
        documents = [asking.document() for asking in (db2, db3, db3, db2)]

    assert [json.dumps(each) for each in documents] == [json.dumps(documents[0])] * 4
    assert documents[0]["DocumentIncarnation"] == 3
    assert list(Transition.objects.values_list("status", "actor")) == [("scheduled", "ada"), ("started", "the clock")]


def test_everything_that_is_due_is_started_together(api, db2):
    for _ in range(120):
        notices.announce(db2.resource, now=NOW)

    with time_machine.travel(NOW + notices.HOUR):
        tasks.advance()
        assert {event["EventStatus"] for event in db2.events()} == {"Started"}


def test_a_reader_starts_nothing(api, db2, token):
    notices.announce(db2.resource, now=NOW)

    with time_machine.travel(NOW + notices.HOUR):
        db2.events()
        everything(token)

    assert Notice.objects.get().status == "scheduled"


# Machines that come and go


def seen(asking: Machine) -> tuple[int, str]:
    document = asking.document()
    return document["DocumentIncarnation"], json.dumps(document["Events"])


@pytest.mark.parametrize("numbers", [(1, 1), (5, 1), (1, 5), (5, 5), (5, 4), (4, 5)])
@pytest.mark.parametrize("has_events", [(True, True), (True, False), (False, True)])
def test_a_machine_that_changes_its_group_never_meets_an_old_number(api, db2, subscription, numbers, has_events):
    web = machine(subscription, "web-1", "webs")
    for asking, has in zip((db2, web), has_events, strict=True):
        if has:
            announced(api, asking)
    for key, number in zip(("group databases", "group webs"), numbers, strict=True):
        EventScope.objects.update_or_create(subscription=subscription, scope_key=key, defaults={"incarnation": number})
    before = seen(db2)

    api.patch(f"/api/resources/{db2.resource.pk}", {"scopeGroup": "webs"})
    after = seen(db2)

    assert after[0] > before[0]
    assert seen(web) == after


def test_a_group_is_told_when_a_member_with_events_leaves_it(api, db2, db3):
    announced(api, db2)
    before = db3.document()

    api.patch(f"/api/resources/{db2.resource.pk}", {"scopeGroup": ""})

    assert (before["DocumentIncarnation"], len(before["Events"])) == (2, 1)
    assert (db3.incarnation, db3.events()) == (3, [])
    assert len(db2.events()) == 1


def test_a_group_is_told_when_a_member_with_events_is_deleted_and_its_name_is_kept(api, db2, db3, subscription):
    web = machine(subscription, "web-1")
    announced(api, db2, web)

    api.delete(f"/api/resources/{db2.resource.pk}")

    assert (db3.incarnation, db3.events()) == (3, [])
    assert web.events()[0]["Resources"] == ["db-2", "web-1"]
    again = machine(subscription, "db-2", "databases")
    assert again.document() == {"DocumentIncarnation": 3, "Events": []}


# While others write


@pytest.mark.parametrize("who", ["a machine", "somebody who reads everything"])
def test_events_that_change_between_the_queries_are_read_again(db2, owner, who):
    """A change comes in right behind the incarnations, which is the worst moment."""
    resource = db2.resource
    notice = notices.announce(db2.resource, now=NOW)
    changes = iter([lambda: notices.start(notice, NOW), lambda: notices.complete(notice, NOW)])

    class Disturbed(EventFeed):
        def load_incarnations(self):
            incarnations = super().load_incarnations()
            next(changes, lambda: None)()
            return incarnations

    feed = (
        Disturbed.for_resource(resource) if who == "a machine" else Disturbed((resource.subscription_id,), user=owner)
    )
    assert feed.read_snapshot() == (4, [])


def test_a_machine_that_moves_while_it_is_read_is_told_nothing_of_its_new_place(db2, subscription):
    web = machine(subscription, "web-1", "webs")
    notices.announce(web.resource, now=NOW)
    stale = Resource.objects.get(pk=db2.resource.pk)
    maintenance_resources.change(db2.resource, scope_group="webs")

    number, shown = EventFeed.for_resource(stale).read_snapshot()

    assert (number, shown) == (EventScope.objects.get(scope_key="group databases").incarnation, [])


@pytest.mark.django_db(transaction=True)
def test_equal_numbers_mean_equal_events_while_many_write(clock, unlimited, subscription, token):
    """Readers of machines' views and of everything beside writers that announce, approve, change, complete, cancel."""
    asking = [machine(subscription, f"db-{number}", "databases" if number < 2 else "") for number in range(3)]
    done, raised, told = Event(), [], defaultdict(set)

    def in_own_connection(work, *arguments):
        try:
            work(*arguments)
        except Exception as error:
            raised.append(error)
        finally:
            connection.close()

    def write(seed: int) -> None:
        choice = random.Random(seed)
        resources = [each.resource for each in asking]
        for _ in range(25):
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
            number, events = seen(each)
            told[each.resource.scope_key, number].add(events)

    def read_everything() -> None:
        newest = 0
        while not done.is_set():
            document = everything(token)
            told["everything", document["DocumentIncarnation"]].add(json.dumps(document["Events"]))
            assert newest <= (newest := document["DocumentIncarnation"])

    writers = [Thread(target=in_own_connection, args=(write, seed)) for seed in range(3)]
    readers = [Thread(target=in_own_connection, args=(read, each)) for each in asking * 2]
    readers += [Thread(target=in_own_connection, args=(read_everything,)) for _ in range(2)]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()

    assert raised == []
    assert len(told) > 20
    assert {key: events for key, events in told.items() if len(events) > 1} == {}
    assert all(each.events() == [] for each in asking)


# What a poll costs


def polled(asking: Machine, minute: int = 1) -> list[str]:
    """The queries of a poll at so many minutes past the hour."""
    at = NOW + minute * notices.MINUTE
    with time_machine.travel(at, tick=False), CaptureQueriesContext(connection) as queries:
        assert asking.get().status_code == 200
    return [query["sql"] for query in queries.captured_queries]


def plan_of(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {'' if connection.vendor == 'postgresql' else 'QUERY PLAN '}{sql}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def test_a_poll_is_six_queries_however_much_there_is(api, db2, db3):
    empty = polled(db2)
    for _ in range(30):
        announced(api, db2, db3)

    full = polled(db2, minute=2)

    # who it is, that it was seen, the number, the events, if any their resources, the number again
    assert (len(empty), len(full)) == (5, 6)


def test_a_poll_with_nothing_due_writes_nothing_but_when_it_came(api, db2):
    announced(api, db2)

    first, second = polled(db2), polled(db2)

    def writing(queries):
        return [sql for sql in queries if not sql.startswith("SELECT")]

    assert ["last_seen_at" in sql for sql in writing(first)] == [True]
    assert writing(second) == []


def test_everything_is_read_in_hardly_more(api, db2, token):
    announced(api, db2)
    everything(token)

    with CaptureQueriesContext(connection) as queries:
        everything(token)

    assert len(queries) == 9


def bulk(asking: Machine, count: int, **fields) -> None:
    rows = Notice.objects.bulk_create(
        Notice(
            subscription=asking.resource.subscription,
            event_type="Reboot",
            not_before=NOW,
            announced_at=NOW,
            **{"status": "completed", "ended_at": NOW, **fields},
        )
        for _ in range(count)
    )
    NoticeResource.objects.bulk_create(
        NoticeResource(notice=row, resource=asking.resource, name=asking.name) for row in rows
    )


def analyze() -> None:
    """As PostgreSQL does by itself, and SQLite never does."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


BY_STATUS = re.compile(  # entered with the status, and not just with the subscription
    r"notice_shown|notice_of_status[^\n]*(\(subscription_id=\? AND |\n *Index Cond: [^\n]*)\(?status"
)


@pytest.mark.parametrize("group", ["databases", ""])
def test_the_cost_of_a_poll_does_not_grow_with_history(api, subscription, unlimited, clock, group):
    """By the plans of both databases: each goes in by an index that holds what is shown, not what is over."""
    polls = machine(subscription, "db-1", group)
    bulk(polls, 3000)
    announced(api, polls)
    analyze()

    polled(polls)
    asked = [sql for sql in polled(polls) if 'FROM "maintenance_notice"' in sql]
    plans = [plan_of(sql) for sql in asked]

    assert len(plans) == 1
    for plan in plans:
        assert BY_STATUS.search(plan), plan
        assert "affected_once" in plan or "sqlite_autoindex_maintenance_noticeresource" in plan, plan
        assert "Seq Scan on maintenance_notice" not in plan
        assert "SCAN maintenance" not in plan


def test_the_numbers_of_views_are_found_by_their_index(db2):
    EventScope.objects.bulk_create(
        EventScope(subscription=db2.resource.subscription, scope_key=f"group {n}") for n in range(3000)
    )
    analyze()

    plan = EventScope.objects.filter(subscription=db2.resource.subscription, scope_key="group 7").explain()

    assert "view_once" in plan or "sqlite_autoindex_maintenance_eventscope" in plan, plan
    assert EventScope.objects.filter(incarnation=F("incarnation")).count() == 3000
