"""Who sees what: superusers everything, members what their subscriptions hold, changes by role."""

import html
import re

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import ApiToken, Membership, Role, Subscription, User
from jobs.models import Job, JobCollection, Run

FORM = {"name": "new", "when": "json", "what": "json", "schedule_json": "{}", "action_json": "{}"}


@pytest.fixture
def theirs(elsewhere, make_job):
    return make_job("theirs", in_collection=elsewhere)


def addresses(job, run) -> list[str]:
    return [
        f"/admin/jobs/job/{job.pk}/",
        f"/admin/jobs/job/{job.pk}/document/",
        f"/admin/jobs/job/{job.pk}/history/",
        f"/admin/jobs/job/{job.pk}/change/",
        f"/admin/jobs/run/{run.pk}/change/",
    ]


def test_what_belongs_to_others_looks_like_what_does_not_exist(browser_of, operator, theirs, make_run):
    run = make_run(theirs)
    browser = browser_of(operator)

    assert {browser.get(address).status_code for address in addresses(theirs, run)} == {404}
    for order in ("run/", "state/"):
        assert browser.post(f"/admin/jobs/job/{theirs.pk}/{order}", {"state": "disabled"}).status_code == 404
    assert browser.post(f"/admin/jobs/run/{run.pk}/cancel/").status_code == 404
    assert Job.objects.get().state == "enabled"


@pytest.mark.parametrize("address", ["job/", "run/", "jobcollection/"])
def test_lists_hold_only_what_is_the_viewers(browser_of, operator, theirs, make_run, make_job, address):
    make_run(theirs)
    make_run(make_job("ours"))

    page = browser_of(operator).get(f"/admin/jobs/{address}").text

    assert "theirs" not in page
    assert "ours" in page or "nightly" in page


def test_a_superuser_sees_every_subscription(browser, theirs):
    assert "theirs" in browser.get("/admin/jobs/job/").text


def test_the_desk_counts_only_what_is_the_viewers(browser_of, operator, theirs, make_run):
    make_run(theirs, Run.State.FAILED)

    context = browser_of(operator).get("/admin/").context

    assert context["failed"]["count"] == 0
    assert context["failed_runs"] == []
    assert context["outlook"]["fires"] == []


def test_a_reader_reads_and_changes_nothing(browser_of, reader, make_job, make_run):
    job = make_job()
    run = make_run(job, Run.State.WAITING)
    browser = browser_of(reader)

    page = browser.get(f"/admin/jobs/job/{job.pk}/")
    refused = [
        browser.get(f"/admin/jobs/job/{job.pk}/change/"),
        browser.get("/admin/jobs/job/add/"),
        browser.post(f"/admin/jobs/job/{job.pk}/run/"),
        browser.post(f"/admin/jobs/job/{job.pk}/state/", {"state": "disabled"}),
        browser.post(f"/admin/jobs/job/{job.pk}/delete/", {"post": "yes"}),
        browser.post(f"/admin/jobs/run/{run.pk}/cancel/"),
        browser.get("/admin/jobs/jobcollection/add/"),
    ]

    assert page.status_code == 200
    assert "Run now" not in page.text
    assert [answer.status_code for answer in refused] == [403] * len(refused)


def test_an_operator_may_not_write_into_a_collection_of_others(browser_of, operator, elsewhere, collection):
    answer = browser_of(operator).post("/admin/jobs/job/add/", {**FORM, "collection": elsewhere.pk})

    assert "collection" in answer.context["form"].errors
    assert not Job.objects.exists()


def test_an_operator_makes_a_collection_in_their_own_subscription_only(browser_of, operator, subscription, elsewhere):
    form = {"name": "fresh", "resource_group": "default", "state": "enabled", "sku": "Standard"}
    browser = browser_of(operator)

    browser.post("/admin/jobs/jobcollection/add/", {**form, "subscription": elsewhere.subscription_id})
    browser.post("/admin/jobs/jobcollection/add/", {**form, "subscription": subscription.pk})

    assert JobCollection.objects.get(name="fresh").subscription == subscription


def test_users_and_housekeeping_are_for_superusers(browser_of, operator):
    browser = browser_of(operator)

    page = browser.get("/admin/").text

    assert browser.get("/admin/accounts/user/").status_code == 403
    assert browser.get("/admin/django_celery_beat/periodictask/").status_code == 403
    assert "Housekeeping" not in page
    assert "Subscriptions" in page


def test_owners_manage_members_and_operators_do_not(browser_of, make_user, operator, subscription):
    boss = make_user("boss", Role.OWNER, is_staff=True)
    membership = Membership.objects.get(user=operator)
    address = f"/admin/accounts/subscription/{subscription.pk}/change/"
    form = {
        "name": subscription.name,
        "membership_set-TOTAL_FORMS": "1",
        "membership_set-INITIAL_FORMS": "1",
        "membership_set-0-id": membership.pk,
        "membership_set-0-subscription": subscription.pk,
        "membership_set-0-user": operator.pk,
        "membership_set-0-role": Role.OWNER,
    }

    assert browser_of(operator).post(address, form).status_code == 403
    browser_of(boss).post(address, form)

    membership.refresh_from_db()
    assert membership.role == Role.OWNER


def test_only_superusers_make_and_delete_subscriptions(browser_of, make_user, subscription):
    browser = browser_of(make_user("boss", Role.OWNER, is_staff=True))

    assert browser.get("/admin/accounts/subscription/add/").status_code == 403
    assert browser.post(f"/admin/accounts/subscription/{subscription.pk}/delete/", {"post": "yes"}).status_code == 403
    assert Subscription.objects.exists()


# Tokens


def test_a_token_is_shown_once_and_kept_as_a_digest(browser, owner):
    page = browser.post("/admin/accounts/apitoken/add/", {"name": "ci", "role": Role.OPERATOR})

    token = ApiToken.objects.get()
    text = page.context["token"].text
    assert text in page.text
    assert "no-store" in page["Cache-Control"]
    assert (token.user, token.role, token.prefix) == (owner, Role.OPERATOR, text[:8])
    assert text not in browser.get("/admin/accounts/apitoken/").text
    assert text not in browser.get(f"/admin/accounts/apitoken/{token.pk}/change/").text
    assert text not in str(dict(browser.session))


def test_a_token_cannot_end_in_the_past(browser):
    answer = browser.post(
        "/admin/accounts/apitoken/add/", {"name": "ci", "role": Role.OWNER, "expires_at": "2020-01-01T00:00"}
    )

    assert "This moment has passed" in answer.text
    assert not ApiToken.objects.exists()


def test_staff_see_and_revoke_their_own_tokens_only(browser_of, operator, owner):
    own, _ = ApiToken.objects.issue(operator, "mine")
    foreign, _ = ApiToken.objects.issue(owner, "hers")
    browser = browser_of(operator)

    page = browser.get("/admin/accounts/apitoken/").text
    browser.post(f"/admin/accounts/apitoken/{foreign.pk}/delete/", {"post": "yes"})
    browser.post(f"/admin/accounts/apitoken/{own.pk}/delete/", {"post": "yes"})

    assert "mine" in page
    assert "hers" not in page
    assert list(ApiToken.objects.all()) == [foreign]


# Users


def test_the_page_of_a_user_shows_nothing_of_the_password(browser, owner):
    page = browser.get(f"/admin/accounts/user/{owner.pk}/change/").text

    assert owner.password not in page
    assert "md5$" not in page


def test_a_user_is_made_and_given_a_zone(browser, db):
    fields = {"username": "new", "usable_password": "true", "password1": "correct horse", "password2": "correct horse"}
    browser.post("/admin/accounts/user/add/", fields)
    user = User.objects.get(username="new")

    browser.post(
        f"/admin/accounts/user/{user.pk}/change/",
        {
            "username": "new",
            "time_zone": "Europe/Lisbon",
            "week_start": "6",
            "hour_cycle": "12",
            "is_active": "on",
            "membership_set-TOTAL_FORMS": "0",
            "membership_set-INITIAL_FORMS": "0",
        },
    )

    user.refresh_from_db()
    assert (user.time_zone, user.language, user.week_start, user.hour_cycle) == ("Europe/Lisbon", "", 6, 12)
    assert user.check_password("correct horse")


@pytest.mark.parametrize("ticked", [True, False])
@pytest.mark.parametrize("is_taken_away", [True, False])
def test_a_password_that_a_superuser_sets_ends_tokens_and_sessions(browser, make_user, ticked, is_taken_away):
    user = make_user("mira")
    ApiToken.objects.issue(user, "ci")
    session = Client()
    session.force_login(user)
    address = f"/admin/accounts/user/{user.pk}/password/"
    form = {"password1": "battery staple", "password2": "battery staple", "usable_password": "true"}
    if is_taken_away:
        form = {"usable_password": "false", "unset-password": "1"}

    asked = browser.get(address).context["adminForm"].form["revoke_tokens"].value()
    browser.post(address, form | ({"revoke_tokens": "on"} if ticked else {}))

    user.refresh_from_db()
    assert asked is True
    assert user.check_password("battery staple") is not is_taken_away
    assert ApiToken.objects.exists() is not ticked
    assert session.get("/account/").status_code == 302


@pytest.mark.parametrize(
    "sku, is_made", [("Free", True), ("Standard", True), ("P10Premium", False), ("P20Premium", False)]
)
def test_an_operator_chooses_no_premium_plan(browser_of, operator, subscription, sku, is_made):
    form = {
        "subscription": subscription.pk,
        "name": "fresh",
        "resource_group": "default",
        "state": "enabled",
        "sku": sku,
    }

    answer = browser_of(operator).post("/admin/jobs/jobcollection/add/", form)

    assert JobCollection.objects.exists() is is_made
    assert is_made or list(answer.context["adminform"].form.errors) == ["sku"]


@pytest.mark.parametrize("role, sku", [(Role.OPERATOR, "Standard"), (Role.OWNER, "P20Premium")])
def test_only_an_owner_raises_a_collection_to_a_premium_plan(browser_of, make_user, collection, role, sku):
    JobCollection.objects.update(sku="Standard")
    form = {"name": "nightly", "resource_group": "default", "state": "enabled", "sku": "P20Premium"}
    browser = browser_of(make_user("mem", role, is_staff=True))

    browser.post(f"/admin/jobs/jobcollection/{collection.pk}/change/", form)

    assert JobCollection.objects.get().sku == sku


def test_a_superuser_chooses_every_plan(browser_of, make_user, collection):
    JobCollection.objects.update(sku="Standard")
    root = make_user("root", role=None, is_staff=True, is_superuser=True)

    form = {"name": "nightly", "resource_group": "default", "state": "enabled", "sku": "P20Premium"}
    browser_of(root).post(f"/admin/jobs/jobcollection/{collection.pk}/change/", form)

    assert JobCollection.objects.get().sku == "P20Premium"


WORK = ("/admin/", "/admin/jobs/job/", "/admin/jobs/run/", "/admin/triggers/trigger/", "/admin/jobs/jobcollection/")
OF_THE_INSTALLATION = (
    *("/admin/accounts/user/", "/admin/accounts/apitoken/", "/admin/django_celery_beat/periodictask/"),
    *("/admin/accounts/user/add/", "/admin/accounts/apitoken/add/"),
)


@pytest.mark.parametrize("role", Role)
def test_a_member_who_is_not_staff_opens_the_pages_of_jobs_as_the_role_allows(browser_of, make_user, make_job, role):
    job = make_job()
    browser = browser_of(make_user("mira", role))

    for address in (*WORK, f"/admin/jobs/job/{job.pk}/"):
        assert browser.get(address).status_code == 200, address
    changed = browser.get(f"/admin/jobs/job/{job.pk}/change/").status_code
    ordered = browser.post(f"/admin/jobs/job/{job.pk}/run/").status_code
    assert (changed, ordered) == ((200, 302) if role >= Role.OPERATOR else (403, 403))
    assert job.runs.exists() is (role >= Role.OPERATOR)


@pytest.mark.parametrize("address", OF_THE_INSTALLATION)
def test_pages_of_the_whole_installation_are_for_staff(browser_of, make_user, address):
    mira = make_user("mira", Role.OWNER)
    mira.user_permissions.set(Permission.objects.all())

    assert browser_of(mira).get(address).status_code == 403


def test_a_member_who_is_not_staff_sees_nothing_of_other_subscriptions(browser_of, make_user, make_job, make_trigger):
    other = Subscription.objects.create(name="other")
    job = make_job("theirs", in_collection=JobCollection.objects.create(subscription=other, name="c", sku="P20Premium"))
    make_trigger(job, group="secret-group")
    browser = browser_of(make_user("mira", Role.OWNER))

    home = browser.get("/admin/").text
    assert "secret-group" not in home
    assert "theirs" not in home + browser.get("/admin/jobs/job/").text
    assert browser.get(f"/admin/jobs/job/{job.pk}/").status_code == 404


LINK = re.compile(r'<(?:a|form)\b[^>]*?\b(?:href|action)="(/[^"#]*)"')


def links_of(page: str) -> set[str]:
    """The addresses on this site that a page leads to by GET."""
    forms = re.findall(r"<form\b[^>]*>", page)
    posted = {link for tag in forms if "post" in tag.lower() for link in LINK.findall(tag)}
    return {html.unescape(link) for link in LINK.findall(page)} - posted


def refused_links(browser, *addresses: str) -> list[tuple[str, str]]:
    links = {link: address for address in addresses for link in links_of(browser.get(address).text)}
    return [(address, link) for link, address in links.items() if browser.get(link).status_code >= 400]


def test_staff_without_a_subscription_open_every_page_that_they_are_shown(browser_of, make_user, make_job):
    make_job("theirs")
    browser = browser_of(make_user("sam", None, is_staff=True))

    assert refused_links(browser, *WORK, "/maintenance/") == []
    assert "theirs" not in browser.get("/admin/jobs/job/").text


def test_staff_without_a_subscription_open_and_change_nothing_of_others(browser_of, make_user, make_job, make_run):
    job = make_job()
    run = make_run(job)
    browser = browser_of(make_user("sam", None, is_staff=True))

    assert {browser.get(address).status_code for address in addresses(job, run)} == {404}
    assert browser.get("/admin/jobs/job/add/").status_code == 403
    assert browser.get(f"/admin/jobs/jobcollection/{job.collection_id}/change/").status_code == 302


def test_a_superuser_who_is_not_staff_may_do_everything(browser_of, make_user, theirs):
    browser = browser_of(make_user("root", None, is_superuser=True))

    for address in (*WORK, *OF_THE_INSTALLATION, f"/admin/jobs/job/{theirs.pk}/change/"):
        assert browser.get(address).status_code == 200, address


def test_a_reader_opens_every_page_that_is_linked(browser_of, make_user, make_job, make_run, make_trigger):
    job = make_job()
    make_trigger(job)
    run = make_run(job, Run.State.FAILED)
    rita = make_user("rita", Role.READER)
    own = [f"/admin/accounts/subscription/{job.collection.subscription_id}/change/", *addresses(job, run)[:3]]

    assert refused_links(browser_of(rita), *WORK, *own, f"/admin/jobs/run/{run.pk}/change/") == []


@pytest.mark.parametrize("action, state", [("run_ticked", "enabled"), ("disable_ticked", "disabled")])
def test_ticked_jobs_are_changed_only_where_the_role_allows(browser_of, make_user, make_job, theirs, action, state):
    """A reader of one subscription who is an operator of the other."""
    mira, ours = make_user("mira", Role.READER), make_job("ours")
    Membership.objects.create(subscription=theirs.collection.subscription, user=mira, role=Role.OPERATOR)
    form = {"action": action, "_selected_action": [ours.pk, theirs.pk], "confirmed": "yes"}

    page = browser_of(mira).post("/admin/jobs/job/", form, follow=True).text

    assert "may not change" in page
    assert "ours" in page
    assert dict(Job.objects.values_list("name", "state")) == {"ours": "enabled", "theirs": state}
    assert set(Run.objects.values_list("job_name", flat=True)) <= {"theirs"}
