"""Who sees what: superusers everything, staff what their subscriptions hold, changes by role."""

import pytest

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


def test_an_operator_may_not_write_into_anothers_collection(browser_of, operator, elsewhere, collection):
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
