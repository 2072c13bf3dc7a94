"""Permissions: superusers see everything, members see their subscriptions, and changes depend on the role."""

import html
import re

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import ApiToken, Membership, Role, Subscription, User
from jobs.models import Job, JobCollection, Run

FORM = {"name": "new", "tab": "json", "what": "json", "schedule_json": "{}", "action_json": "{}"}


@pytest.fixture
def job_of_others(collection_of_others, make_job):
    return make_job("theirs", in_collection=collection_of_others)


def page_urls(job, run) -> list[str]:
    return [
        f"/admin/jobs/job/{job.pk}/",
        f"/admin/jobs/job/{job.pk}/document/",
        f"/admin/jobs/job/{job.pk}/history/",
        f"/admin/jobs/job/{job.pk}/change/",
        f"/admin/jobs/run/{run.pk}/change/",
    ]


def test_jobs_and_runs_of_other_subscriptions_are_not_found(sign_in_as, operator, job_of_others, make_run):
    run = make_run(job_of_others)
    browser = sign_in_as(operator)

    assert {browser.get(address).status_code for address in page_urls(job_of_others, run)} == {404}
    for action in ("run/", "state/"):
        assert browser.post(f"/admin/jobs/job/{job_of_others.pk}/{action}", {"state": "disabled"}).status_code == 404
    assert browser.post(f"/admin/jobs/run/{run.pk}/cancel/").status_code == 404
    assert Job.objects.get().state == "enabled"


@pytest.mark.parametrize("address", ["job/", "run/", "jobcollection/"])
def test_lists_show_only_rows_of_own_subscriptions(sign_in_as, operator, job_of_others, make_run, make_job, address):
    make_run(job_of_others)
    make_run(make_job("ours"))

    page = sign_in_as(operator).get(f"/admin/jobs/{address}").text

    assert "theirs" not in page
    assert "ours" in page or "nightly" in page


def test_superuser_sees_all_subscriptions(browser, job_of_others):
    assert "theirs" in browser.get("/admin/jobs/job/").text


def test_home_counts_only_rows_of_own_subscriptions(sign_in_as, operator, job_of_others, make_run):
    make_run(job_of_others, Run.State.FAILED)

    context = sign_in_as(operator).get("/admin/").context

    assert context["failed"]["count"] == 0
    assert context["failed_runs"] == []
    assert context["outlook"]["fires"] == []


def test_reader_can_read_but_not_change_jobs(sign_in_as, reader, make_job, make_run):
    job = make_job()
    run = make_run(job, Run.State.WAITING)
    browser = sign_in_as(reader)

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
    assert [response.status_code for response in refused] == [403] * len(refused)


def test_operator_cannot_add_a_job_to_a_collection_of_others(sign_in_as, operator, collection_of_others, collection):
    response = sign_in_as(operator).post("/admin/jobs/job/add/", {**FORM, "collection": collection_of_others.pk})

    assert "collection" in response.context["form"].errors
    assert not Job.objects.exists()


def test_operator_can_add_a_collection_only_to_own_subscriptions(
    sign_in_as, operator, subscription, collection_of_others
):
    form = {"name": "fresh", "resource_group": "default", "state": "enabled", "sku": "Standard"}
    browser = sign_in_as(operator)

    browser.post("/admin/jobs/jobcollection/add/", {**form, "subscription": collection_of_others.subscription_id})
    browser.post("/admin/jobs/jobcollection/add/", {**form, "subscription": subscription.pk})

    assert JobCollection.objects.get(name="fresh").subscription == subscription


def test_users_and_periodic_tasks_are_only_for_superusers(sign_in_as, operator):
    browser = sign_in_as(operator)

    page = browser.get("/admin/").text

    assert browser.get("/admin/accounts/user/").status_code == 403
    assert browser.get("/admin/django_celery_beat/periodictask/").status_code == 403
    assert "Housekeeping" not in page
    assert "Subscriptions" in page


def test_owner_can_manage_members_and_operator_cannot(sign_in_as, make_user, operator, subscription):
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

    assert sign_in_as(operator).post(address, form).status_code == 403
    sign_in_as(boss).post(address, form)

    membership.refresh_from_db()
    assert membership.role == Role.OWNER


def test_only_superusers_can_add_and_delete_subscriptions(sign_in_as, make_user, subscription):
    browser = sign_in_as(make_user("boss", Role.OWNER, is_staff=True))

    assert browser.get("/admin/accounts/subscription/add/").status_code == 403
    assert browser.post(f"/admin/accounts/subscription/{subscription.pk}/delete/", {"post": "yes"}).status_code == 403
    assert Subscription.objects.exists()


# Tokens


def test_token_is_shown_once_and_stored_as_a_digest(browser, owner):
    page = browser.post("/admin/accounts/apitoken/add/", {"name": "ci", "role": Role.OPERATOR})

    token = ApiToken.objects.get()
    text = page.context["token"].text
    assert text in page.text
    assert "no-store" in page["Cache-Control"]
    assert (token.user, token.role, token.prefix) == (owner, Role.OPERATOR, text[:8])
    assert text not in browser.get("/admin/accounts/apitoken/").text
    assert text not in browser.get(f"/admin/accounts/apitoken/{token.pk}/change/").text
    assert text not in str(dict(browser.session))


def test_token_cannot_expire_in_the_past(browser):
    response = browser.post(
        "/admin/accounts/apitoken/add/", {"name": "ci", "role": Role.OWNER, "expires_at": "2020-01-01T00:00"}
    )

    assert "This time is in the past" in response.text
    assert not ApiToken.objects.exists()


def test_staff_see_and_revoke_only_own_tokens(sign_in_as, operator, owner):
    own, _ = ApiToken.objects.issue(operator, "mine")
    token_of_other_user, _ = ApiToken.objects.issue(owner, "hers")
    browser = sign_in_as(operator)

    page = browser.get("/admin/accounts/apitoken/").text
    browser.post(f"/admin/accounts/apitoken/{token_of_other_user.pk}/delete/", {"post": "yes"})
    browser.post(f"/admin/accounts/apitoken/{own.pk}/delete/", {"post": "yes"})

    assert "mine" in page
    assert "hers" not in page
    assert list(ApiToken.objects.all()) == [token_of_other_user]


# Users


def test_user_page_does_not_show_the_password_hash(browser, owner):
    page = browser.get(f"/admin/accounts/user/{owner.pk}/change/").text

    assert owner.password not in page
    assert "md5$" not in page


def test_user_is_added_and_settings_are_saved(browser, db):
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


@pytest.mark.parametrize("with_revocation", [True, False])
@pytest.mark.parametrize("is_removed", [True, False])
def test_password_set_by_a_superuser_ends_tokens_and_sessions(browser, make_user, with_revocation, is_removed):
    user = make_user("mira")
    ApiToken.objects.issue(user, "ci")
    session = Client()
    session.force_login(user)
    address = f"/admin/accounts/user/{user.pk}/password/"
    form = {"password1": "battery staple", "password2": "battery staple", "usable_password": "true"}
    if is_removed:
        form = {"usable_password": "false", "unset-password": "1"}

    default = browser.get(address).context["adminForm"].form["revoke_tokens"].value()
    browser.post(address, form | ({"revoke_tokens": "on"} if with_revocation else {}))

    user.refresh_from_db()
    assert default is True
    assert user.check_password("battery staple") is not is_removed
    assert ApiToken.objects.exists() is not with_revocation
    assert session.get("/account/").status_code == 302


@pytest.mark.parametrize(
    "sku, is_created", [("Free", True), ("Standard", True), ("P10Premium", False), ("P20Premium", False)]
)
def test_operator_cannot_choose_a_premium_plan(sign_in_as, operator, subscription, sku, is_created):
    form = {
        "subscription": subscription.pk,
        "name": "fresh",
        "resource_group": "default",
        "state": "enabled",
        "sku": sku,
    }

    response = sign_in_as(operator).post("/admin/jobs/jobcollection/add/", form)

    assert JobCollection.objects.exists() is is_created
    assert is_created or list(response.context["adminform"].form.errors) == ["sku"]


@pytest.mark.parametrize("role, sku", [(Role.OPERATOR, "Standard"), (Role.OWNER, "P20Premium")])
def test_only_an_owner_can_change_a_collection_to_a_premium_plan(sign_in_as, make_user, collection, role, sku):
    JobCollection.objects.update(sku="Standard")
    form = {"name": "nightly", "resource_group": "default", "state": "enabled", "sku": "P20Premium"}
    browser = sign_in_as(make_user("mem", role, is_staff=True))

    browser.post(f"/admin/jobs/jobcollection/{collection.pk}/change/", form)

    assert JobCollection.objects.get().sku == sku


def test_superuser_can_choose_each_plan(sign_in_as, make_user, collection):
    JobCollection.objects.update(sku="Standard")
    root = make_user("root", role=None, is_staff=True, is_superuser=True)

    form = {"name": "nightly", "resource_group": "default", "state": "enabled", "sku": "P20Premium"}
    sign_in_as(root).post(f"/admin/jobs/jobcollection/{collection.pk}/change/", form)

    assert JobCollection.objects.get().sku == "P20Premium"


MEMBER_PAGES = (
    "/admin/",
    "/admin/jobs/job/",
    "/admin/jobs/run/",
    "/admin/triggers/trigger/",
    "/admin/jobs/jobcollection/",
)
STAFF_PAGES = (
    *("/admin/accounts/user/", "/admin/accounts/apitoken/", "/admin/django_celery_beat/periodictask/"),
    *("/admin/accounts/user/add/", "/admin/accounts/apitoken/add/"),
)


@pytest.mark.parametrize("role", Role)
def test_member_who_is_not_staff_opens_job_pages_by_role(sign_in_as, make_user, make_job, role):
    job = make_job()
    browser = sign_in_as(make_user("mira", role))

    for address in (*MEMBER_PAGES, f"/admin/jobs/job/{job.pk}/"):
        assert browser.get(address).status_code == 200, address
    change_status = browser.get(f"/admin/jobs/job/{job.pk}/change/").status_code
    run_status = browser.post(f"/admin/jobs/job/{job.pk}/run/").status_code
    assert (change_status, run_status) == ((200, 302) if role >= Role.OPERATOR else (403, 403))
    assert job.runs.exists() is (role >= Role.OPERATOR)


@pytest.mark.parametrize("address", STAFF_PAGES)
def test_pages_of_the_installation_are_only_for_staff(sign_in_as, make_user, address):
    mira = make_user("mira", Role.OWNER)
    mira.user_permissions.set(Permission.objects.all())

    assert sign_in_as(mira).get(address).status_code == 403


def test_member_who_is_not_staff_does_not_see_other_subscriptions(sign_in_as, make_user, make_job, make_trigger):
    other = Subscription.objects.create(name="other")
    job = make_job("theirs", in_collection=JobCollection.objects.create(subscription=other, name="c", sku="P20Premium"))
    make_trigger(job, group="secret-group")
    browser = sign_in_as(make_user("mira", Role.OWNER))

    home = browser.get("/admin/").text
    assert "secret-group" not in home
    assert "theirs" not in home + browser.get("/admin/jobs/job/").text
    assert browser.get(f"/admin/jobs/job/{job.pk}/").status_code == 404


LINK = re.compile(r'<(?:a|form)\b[^>]*?\b(?:href|action)="(/[^"#]*)"')


def find_links(page: str) -> set[str]:
    """Return the addresses of this site to which the page links with GET."""
    forms = re.findall(r"<form\b[^>]*>", page)
    posted = {link for tag in forms if "post" in tag.lower() for link in LINK.findall(tag)}
    return {html.unescape(link) for link in LINK.findall(page)} - posted


def find_refused_links(browser, *page_urls: str) -> list[tuple[str, str]]:
    links = {link: address for address in page_urls for link in find_links(browser.get(address).text)}
    return [(address, link) for link, address in links.items() if browser.get(link).status_code >= 400]


def test_staff_without_a_subscription_can_open_all_linked_pages(sign_in_as, make_user, make_job):
    make_job("theirs")
    browser = sign_in_as(make_user("sam", None, is_staff=True))

    assert find_refused_links(browser, *MEMBER_PAGES, "/maintenance/") == []
    assert "theirs" not in browser.get("/admin/jobs/job/").text


def test_staff_without_a_subscription_cannot_open_or_change_jobs(sign_in_as, make_user, make_job, make_run):
    job = make_job()
    run = make_run(job)
    browser = sign_in_as(make_user("sam", None, is_staff=True))

    assert {browser.get(address).status_code for address in page_urls(job, run)} == {404}
    assert browser.get("/admin/jobs/job/add/").status_code == 403
    assert browser.get(f"/admin/jobs/jobcollection/{job.collection_id}/change/").status_code == 302


def test_superuser_who_is_not_staff_can_open_all_pages(sign_in_as, make_user, job_of_others):
    browser = sign_in_as(make_user("root", None, is_superuser=True))

    for address in (*MEMBER_PAGES, *STAFF_PAGES, f"/admin/jobs/job/{job_of_others.pk}/change/"):
        assert browser.get(address).status_code == 200, address


def test_reader_can_open_all_linked_pages(sign_in_as, make_user, make_job, make_run, make_trigger):
    job = make_job()
    make_trigger(job)
    run = make_run(job, Run.State.FAILED)
    rita = make_user("rita", Role.READER)
    own = [f"/admin/accounts/subscription/{job.collection.subscription_id}/change/", *page_urls(job, run)[:3]]

    assert find_refused_links(sign_in_as(rita), *MEMBER_PAGES, *own, f"/admin/jobs/run/{run.pk}/change/") == []


@pytest.mark.parametrize("action, state", [("run_ticked", "enabled"), ("disable_ticked", "disabled")])
def test_selected_jobs_are_changed_only_if_the_role_allows(
    sign_in_as, make_user, make_job, job_of_others, action, state
):
    """The user is reader in one subscription and operator in the other."""
    mira, own_job = make_user("mira", Role.READER), make_job("ours")
    Membership.objects.create(subscription=job_of_others.collection.subscription, user=mira, role=Role.OPERATOR)
    form = {"action": action, "_selected_action": [own_job.pk, job_of_others.pk], "confirmed": "yes"}

    page = sign_in_as(mira).post("/admin/jobs/job/", form, follow=True).text

    assert "do not have permission to change" in page
    assert "ours" in page
    assert dict(Job.objects.values_list("name", "state")) == {"ours": "enabled", "theirs": state}
    assert set(Run.objects.values_list("job_name", flat=True)) <= {"theirs"}
