"""The pages /maintenance/: permissions, contents, and actions on notices, without JavaScript."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Role, Subscription
from jobs.models import Run
from maintenance import holds, lifecycle
from maintenance.lifecycle import Announcement
from maintenance.models import EventType, Notice, Resource
from maintenance.policies import PolicyInput
from tests.maintenance.pages import announcement_values, read_messages
from triggers.dispatch import dispatch_due

pytestmark = pytest.mark.django_db

REBOOT = EventType.REBOOT


# The page


def test_empty_page_links_to_the_form_for_a_new_resource(browser):
    answer = browser.get("/maintenance/")

    assert "No maintenance is announced" in answer.content.decode()
    assert "/maintenance/resources/new" in answer.content.decode()


def test_page_of_a_user_without_a_subscription_says_so(sign_in_as):
    assert "No subscription" in sign_in_as(None).get("/maintenance/").content.decode()


def test_maintenance_page_requires_sign_in(client):
    assert client.get("/maintenance/").url == "/sign-in/?next=/maintenance/"


def test_scheduled_notice_shows_affected_resources_runs_and_jobs(browser, make_resource, make_notice, make_job):
    db = make_resource("db-2")
    job = make_job("reindex", schedule={"recurrence": {"frequency": "Minute", "interval": 30}}, now=timezone.now())
    holds.set_policy(job, PolicyInput(resource_names=("db-2",), on_notice="hold", on_end="drop"), timezone.now())
    run = Run.objects.create(
        subscription=db.subscription,
        job=job,
        job_name="reindex",
        collection_name="nightly",
        fire_at=timezone.now(),
        publish_after=timezone.now(),
        started_at=timezone.now() - timedelta(minutes=38),
        state=Run.State.RUNNING,
    )
    notice = make_notice(db, description="Kernel update")

    (card,) = browser.get("/maintenance/").context["cards"]

    assert (card["notice"], card["title"]) == (notice, "Reboot of db-2")
    assert [(each["name"], each["seen"]) for each in card["resources"]] == [("db-2", "never polled")]
    assert [(each["run"], each["since"]) for each in card["live"]] == [(run, "38 min")]
    assert [each["job"] for each in card["to_be_held"]] == [job]
    assert card["to_be_held"][0]["words"].endswith(", skipped")


def test_countdown_is_rendered_in_the_zone_hour_cycle_and_language_of_the_user(
    browser, owner, make_resource, make_notice
):
    owner.time_zone, owner.hour_cycle, owner.language = "Asia/Tokyo", 12, "de"
    owner.save()
    tomorrow = (timezone.now() + timedelta(days=1)).replace(hour=5, minute=0, second=0, microsecond=0)
    make_notice(make_resource(), not_before=tomorrow)

    page = browser.get("/maintenance/").content.decode()

    assert 'data-relative="until"' in page
    assert "2:00" in page
    assert ", 05:00 UTC" in page
    assert 'data-spans="%s s|%s min|%s h|in %s|vor %s|' in page.replace("&#x27;", "'")


@pytest.mark.parametrize(
    "zone, is_utc", [("UTC", True), ("Atlantic/Reykjavik", True), ("Asia/Tokyo", False), ("America/Lima", False)]
)
def test_start_is_also_shown_in_utc_if_the_zone_of_the_user_differs(
    browser, owner, make_resource, make_notice, zone, is_utc
):
    owner.time_zone = zone
    owner.save()
    notice = make_notice(make_resource())

    for address in ("/maintenance/", f"/maintenance/notices/{notice.pk}/"):
        (start,) = re.findall(r"starts automatically: (.*?)</small>", browser.get(address).text)
        assert start.count(f"{notice.not_before:%H:%M}") == 1
        assert start.endswith(" UTC") is not is_utc


@pytest.mark.parametrize(
    "language, notice_word, run_word",
    [("de", "Abgesagt", "Abgebrochen"), ("pt-br", "Cancelado", "Cancelada"), ("en", "Cancelled", "Cancelled")],
)
def test_cancelled_notice_and_cancelled_run_have_different_translations(
    browser, owner, make_resource, make_notice, language, notice_word, run_word
):
    owner.language = language
    owner.save()
    notice = make_notice(make_resource())
    lifecycle.cancel(notice, "ada", timezone.now())

    for address in ("/maintenance/history/", f"/maintenance/notices/{notice.pk}/", f"/calendar/notices/{notice.pk}"):
        page = browser.get(address).text
        assert f"</svg>{notice_word}</span>" in page
        assert run_word == notice_word or run_word not in page


@pytest.mark.parametrize(
    "last_seen, words, state",
    [
        (None, "never polled", "idle"),
        (timedelta(seconds=3), "polling, last seen 3 s ago", "success"),
        (timedelta(hours=30), "not polling, last seen 1 day 6 h ago", "warning"),
    ],
)
def test_resource_shows_when_it_last_polled(browser, make_resource, last_seen, words, state):
    resource = make_resource()
    Resource.objects.filter(pk=resource.pk).update(last_seen_at=last_seen and timezone.now() - last_seen)

    for address in ("/maintenance/", "/maintenance/resources/"):
        context = browser.get(address).context
        (row,) = context["resources"] if "resources" in context else context["rows"]
        assert (row["seen"], row["state"]) == (words, state)


def test_due_notice_is_shown_as_started(browser, make_resource, make_notice):
    notice = make_notice(make_resource())
    Notice.objects.filter(pk=notice.pk).update(not_before=timezone.now() - timedelta(seconds=1))

    context = browser.get("/maintenance/").context

    assert context["cards"] == []
    assert [(row["notice"], row["state"].word) for row in context["under_way"]] == [(notice, "Started")]
    assert [step["actor"] for step in context["steps"]] == ["ada"]  # the transition is made by the beat


def test_transitions_show_their_actor_and_incarnation(browser, make_resource, make_notice):
    notice = make_notice(make_resource())
    lifecycle.approve([notice], "db-2", timezone.now())
    lifecycle.complete(notice, "mira", timezone.now())

    for address in ("/maintenance/history/", f"/maintenance/notices/{notice.pk}/"):
        context = browser.get(address).context
        steps = context["steps"] if "card" in context else context["rows"][0]["steps"]
        assert [(step["word"], step["actor"]) for step in steps] == [
            ("Announced", "ada"),
            ("Started", "db-2"),
            ("Completed", "mira"),
        ]
        assert [step["incarnations"] for step in steps] == [
            f"incarnation {number} (group db: {number})" for number in (2, 3, 4)
        ]


@pytest.mark.parametrize("count", [1, 6])
def test_page_takes_the_same_number_of_queries_for_any_number_of_notices(
    browser, make_resource, make_notice, make_job, django_assert_max_num_queries, count
):
    for number in range(count):
        resource = make_resource(f"db-{number}")
        job = make_job(f"job-{number}")
        holds.set_policy(job, PolicyInput(resource_names=(resource.name,), on_notice="hold"), timezone.now())
        make_notice(resource)
        ended = make_notice(resource, has_started=True)
        lifecycle.complete(ended, "ada", timezone.now())

    with django_assert_max_num_queries(24):
        browser.get("/maintenance/")


def test_history_has_pages_and_takes_a_fixed_number_of_queries(
    browser, make_resource, make_notice, django_assert_num_queries
):
    resource = make_resource()
    for _ in range(25):
        lifecycle.cancel(make_notice(resource), "ada", timezone.now())

    # session, user, subscriptions, notices, affected resources, transitions; the waiting notices in the header
    with django_assert_num_queries(7):
        first = browser.get("/maintenance/history/").context
    second = browser.get(first["older"]).context

    assert (len(first["rows"]), len(second["rows"]), second["older"]) == (20, 5, "")
    assert not {row["notice"].pk for row in first["rows"]} & {row["notice"].pk for row in second["rows"]}


@pytest.mark.parametrize("before", ["x", "0", "00000000-0000-0000-0000-000000000000"])
def test_invalid_history_page_is_the_first_page(browser, before):
    assert browser.get("/maintenance/history/", {"before": before}).context["is_first_page"]


# Permissions


def test_notices_of_other_subscriptions_are_hidden(sign_in_as, make_resource, make_notice, make_user):
    other_subscription = Subscription.objects.create(name="elsewhere")
    resource_of_others = make_resource("secret-1", in_subscription=other_subscription)
    notice = make_notice(resource_of_others)
    client = sign_in_as(Role.OWNER)

    for address in ("", "history/", "resources/", "announce"):
        assert "secret-1" not in client.get(f"/maintenance/{address}").content.decode()
    for method in (client.get, client.post):
        for address in (
            f"notices/{notice.pk}/approve",
            f"notices/{notice.pk}/cancel",
            f"notices/{notice.pk}/change",
            f"resources/{resource_of_others.pk}/edit",
            f"resources/{resource_of_others.pk}/token",
            f"resources/{resource_of_others.pk}/remove",
        ):
            assert method(f"/maintenance/{address}").status_code == 404
    assert client.get(f"/maintenance/notices/{notice.pk}/").status_code == 404
    assert (
        "resources"
        in client.post("/maintenance/announce", announcement_values(resource_of_others)).context["form"].errors
    )
    notice.refresh_from_db()
    assert (notice.status, Notice.objects.count(), Resource.objects.count()) == ("scheduled", 1, 1)


def test_reader_can_see_but_not_change_notices(sign_in_as, make_resource, make_notice, make_job):
    db, job = make_resource(), make_job()
    notice = make_notice(db)
    client = sign_in_as(Role.READER)

    (card,) = client.get("/maintenance/").context["cards"]
    assert not card["may_operate"]
    for address in ("", "history/", "resources/", f"notices/{notice.pk}/"):
        page = client.get(f"/maintenance/{address}")
        assert page.status_code == 200
        assert not [word for word in ("Approve…", "Announce…", "Remove…", "New resource") if word in page.text]
    for address in (
        "announce",
        f"notices/{notice.pk}/approve",
        f"notices/{notice.pk}/drain",
        f"notices/{notice.pk}/change",
        f"notices/{notice.pk}/cancel",
        "resources/new",
        f"resources/{db.pk}/edit",
        f"resources/{db.pk}/token",
        f"resources/{db.pk}/remove",
        f"jobs/{job.pk}",
    ):
        for method in (client.get, client.post):
            assert method(f"/maintenance/{address}").status_code == 403
    notice.refresh_from_db()
    assert notice.status == "scheduled"


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.OWNER])
def test_operator_can_announce_and_approve(sign_in_as, make_resource, role):
    client, db = sign_in_as(role), make_resource()

    client.post("/maintenance/announce", announcement_values(db))
    client.post(f"/maintenance/notices/{Notice.objects.get().pk}/approve")

    assert Notice.objects.get().status == "started"
    assert Notice.objects.get().approvals.get().user.username == "mira"


def test_notice_names_its_subscription_if_the_user_has_several(browser, owner, make_resource, make_notice):
    Subscription.objects.create(name="elsewhere")
    make_notice(make_resource())

    context = browser.get("/maintenance/").context

    assert context["incarnation"] is None
    assert context["cards"][0]["subscription"] == "default"


def test_notice_with_resources_of_two_subscriptions_is_refused(browser, make_resource):
    other = make_resource("web-1", in_subscription=Subscription.objects.create(name="elsewhere"))

    answer = browser.post("/maintenance/announce", announcement_values(make_resource(), other))

    assert answer.context["form"].errors == {"resources": ["Select resources of one subscription only"]}


# Actions


@pytest.mark.parametrize(
    "verb, has_started, status, word",
    [
        ("approve", False, "started", "Approved"),
        ("complete", True, "completed", "Completed"),
        ("cancel", False, "cancelled", "Cancelled"),
    ],
)
def test_action_on_a_notice_requires_confirmation(browser, make_resource, make_notice, verb, has_started, status, word):
    notice = make_notice(make_resource(), has_started=has_started)
    address = f"/maintenance/notices/{notice.pk}/{verb}"

    confirmation = browser.get(address)
    notice.refresh_from_db()
    assert (confirmation.status_code, notice.ended_at) == (200, None)
    answer = browser.post(address, follow=True)

    notice.refresh_from_db()
    assert notice.status == status
    assert read_messages(answer) == [f"{word}: Reboot of db-2."]


def test_draining_notice_starts_immediately_if_nothing_runs(browser, make_resource, make_notice):
    notice = make_notice(make_resource())

    browser.post(f"/maintenance/notices/{notice.pk}/drain")

    notice.refresh_from_db()
    assert (notice.approve_when_idle, notice.status) == (True, "started")


def test_confirmation_shows_the_consequences_of_an_action(browser, make_resource, make_job):
    now, db = timezone.now(), make_resource()
    hourly = {"schedule": {"recurrence": {"frequency": "Hour"}}, "now": now}
    holds.set_policy(make_job("once"), PolicyInput(("db-2",), on_notice="hold"), now)
    holds.set_policy(
        make_job("reindex", **hourly), PolicyInput(("db-2",), on_notice="hold", run_at_phases=["complete"]), now
    )
    holds.set_policy(make_job("patch"), PolicyInput(("db-2",), run_at_phases=["start", "cancel"]), now)
    announcement = Announcement(REBOOT, [db], not_before=now + timedelta(hours=5))
    notice = lifecycle.announce(db.subscription, announcement, "ada", now)

    def list_consequences(verb):
        return browser.get(f"/maintenance/notices/{notice.pk}/{verb}").context["consequences"][1:]

    held, runs = "Planned runs of 2 jobs are held until the maintenance ends.", "1 job runs once as its policy says."
    assert [list_consequences(verb) for verb in ("approve", "drain", "cancel")] == [
        [held, runs],
        ["No run is in progress on its resources."],
        [runs],
    ]
    lifecycle.approve([notice], "ada", now)
    patch_run = Run.objects.get(job_name="patch")
    Run.objects.filter(pk=patch_run.pk).update(state=Run.State.RUNNING, started_at=now)
    dispatch_due(now + timedelta(hours=2))

    assert list_consequences("complete") == ["2 held runs are released as their jobs' policies say.", runs]
    [row] = browser.get("/maintenance/").context["under_way"]
    assert (row["live"], row["held"]) == (1, 2)
    assert "1 running, 2 held" in browser.get("/maintenance/").text


CHANGED_MEANWHILE = ["Someone else changed the notice first. This is its current state."]


@pytest.mark.parametrize(
    "verb, has_started", [("approve", True), ("cancel", True), ("drain", True), ("complete", False)]
)
def test_confirmation_of_an_outdated_action_redirects_with_a_message(
    browser, make_resource, make_notice, verb, has_started
):
    notice = make_notice(make_resource(), has_started=has_started)

    assert read_messages(browser.get(f"/maintenance/notices/{notice.pk}/{verb}", follow=True)) == CHANGED_MEANWHILE


@pytest.mark.parametrize(
    "verb, status",
    [
        ("approve", "completed"),
        ("approve", "cancelled"),
        ("drain", "started"),
        ("drain", "cancelled"),
        ("complete", "scheduled"),
        ("complete", "cancelled"),
        ("cancel", "started"),
        ("cancel", "completed"),
    ],
)
def test_outdated_action_changes_nothing_and_shows_a_message(browser, make_resource, make_notice, verb, status):
    notice = make_notice(make_resource(), has_started=status in ("started", "completed"))
    if status in ("completed", "cancelled"):
        getattr(lifecycle, status.removesuffix("led").removesuffix("d"))(notice, "ada", timezone.now())
    before = notice.transitions.count()

    answer = browser.post(f"/maintenance/notices/{notice.pk}/{verb}", follow=True)

    assert read_messages(answer) == CHANGED_MEANWHILE
    assert answer.request["PATH_INFO"] == f"/maintenance/notices/{notice.pk}/"
    notice.refresh_from_db()
    assert (notice.status, notice.transitions.count()) == (status, before)


@pytest.mark.parametrize("verb, word", [("approve", "Approved"), ("complete", "Completed"), ("cancel", "Cancelled")])
def test_action_sent_twice_is_executed_once(browser, make_resource, make_notice, verb, word):
    notice = make_notice(make_resource(), has_started=verb == "complete")

    answers = [browser.post(f"/maintenance/notices/{notice.pk}/{verb}", follow=True) for _ in range(2)]

    assert [read_messages(answer) for answer in answers] == [[f"{word}: Reboot of db-2."]] * 2
    assert notice.transitions.count() == 2


def test_unknown_action_is_not_found(browser, make_resource, make_notice):
    notice = make_notice(make_resource())

    for method in (browser.get, browser.post):
        assert method(f"/maintenance/notices/{notice.pk}/explode").status_code == 404


def test_names_and_descriptions_are_escaped(browser, make_resource, make_notice):
    make_notice(make_resource("<b>x</b>", "<i>"), description="<script>alert(1)</script>")

    page = browser.get("/maintenance/").text

    assert "<script>alert" not in page
    assert "<b>x</b>" not in page
    assert "<i>" not in page.replace("<i data-of", "")
