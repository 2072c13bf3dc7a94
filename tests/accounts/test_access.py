from types import SimpleNamespace

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import Http404

from accounts.access import require_role, visible_rows
from accounts.models import ApiToken, Role, Subscription
from jobs.models import Job, JobCollection


def caller(user, token: ApiToken | None = None):
    return SimpleNamespace(user=user, auth=token)


@pytest.fixture
def elsewhere(db):
    return Subscription.objects.create(name="elsewhere")


def test_a_member_sees_rows_of_the_own_subscriptions_only(make_user, make_job, elsewhere):
    job = make_job()
    JobCollection.objects.create(subscription=elsewhere, name="theirs")
    reader = make_user("rita", Role.READER)

    assert list(visible_rows(caller(reader), Job)) == [job]
    assert [c.name for c in visible_rows(caller(reader), JobCollection)] == ["nightly"]
    assert [s.name for s in visible_rows(caller(reader), Subscription)] == ["default"]


def test_being_an_administrator_of_the_site_shows_no_more(make_user, make_job):
    make_job()
    admin = make_user("root", role=None, is_staff=True, is_superuser=True)

    assert not visible_rows(caller(admin), Job).exists()


@pytest.mark.parametrize("role, may", [(Role.READER, False), (Role.OPERATOR, True), (Role.OWNER, True)])
def test_a_role_includes_the_lower_ones(make_user, make_job, role, may):
    job = make_job()
    member = caller(make_user("m", role))

    assert visible_rows(member, Job, Role.OPERATOR).exists() is may
    assert require_role(member, Job, pk=job.pk) == job
    if not may:
        with pytest.raises(PermissionDenied):
            require_role(member, Job, Role.OPERATOR, pk=job.pk)


def test_a_tokens_role_caps_its_users(owner, make_job):
    make_job()
    token, _ = ApiToken.objects.issue(owner, "watch", role=Role.READER)

    assert visible_rows(caller(owner, token), Job).exists()
    assert not visible_rows(caller(owner, token), Job, Role.OPERATOR).exists()


def test_a_tokens_role_adds_nothing_to_its_users(make_user, make_job):
    job = make_job()
    reader = make_user("rita", Role.READER)
    token, _ = ApiToken.objects.issue(reader, "big", role=Role.OWNER)

    with pytest.raises(PermissionDenied):
        require_role(caller(reader, token), Job, Role.OPERATOR, pk=job.pk)


@pytest.mark.parametrize("role", Role)
def test_what_belongs_to_others_is_missing_for_every_role(make_user, elsewhere, role):
    theirs = JobCollection.objects.create(subscription=elsewhere, name="theirs")

    with pytest.raises(Http404) as foreign:
        require_role(caller(make_user("m")), JobCollection, role, pk=theirs.pk)
    with pytest.raises(Http404) as missing:
        require_role(caller(make_user("n")), JobCollection, role, pk=theirs.pk + 1)

    assert str(foreign.value) == str(missing.value)


def test_it_starts_from_a_narrower_queryset_too(owner, make_job):
    make_job()

    assert not visible_rows(caller(owner), Job.objects.filter(name="other")).exists()
    assert visible_rows(caller(owner), JobCollection.objects.get().jobs).exists()


def test_what_is_made_between_two_looks_is_not_forbidden(owner, subscription):
    made = []

    def meanwhile(execute, *arguments):
        result = execute(*arguments)
        if not made:
            made.append("nightly")
            JobCollection.objects.create(subscription=subscription, name="nightly")
        return result

    with connection.execute_wrapper(meanwhile):
        found = require_role(caller(owner), JobCollection, Role.OPERATOR, name="nightly")

    assert found.name == "nightly"
