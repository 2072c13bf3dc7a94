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
def other_subscription(db):
    return Subscription.objects.create(name="elsewhere")


def test_member_sees_only_rows_of_own_subscriptions(make_user, make_job, other_subscription):
    job = make_job()
    JobCollection.objects.create(subscription=other_subscription, name="theirs")
    reader = make_user("rita", Role.READER)

    assert list(visible_rows(caller(reader), Job)) == [job]
    assert [c.name for c in visible_rows(caller(reader), JobCollection)] == ["nightly"]
    assert [s.name for s in visible_rows(caller(reader), Subscription)] == ["default"]


def test_superuser_sees_no_rows_without_a_membership(make_user, make_job):
    make_job()
    admin = make_user("root", role=None, is_staff=True, is_superuser=True)

    assert not visible_rows(caller(admin), Job).exists()


@pytest.mark.parametrize("role, is_allowed", [(Role.READER, False), (Role.OPERATOR, True), (Role.OWNER, True)])
def test_a_role_includes_the_lower_ones(make_user, make_job, role, is_allowed):
    job = make_job()
    member = caller(make_user("m", role))

    assert visible_rows(member, Job, Role.OPERATOR).exists() is is_allowed
    assert require_role(member, Job, pk=job.pk) == job
    if not is_allowed:
        with pytest.raises(PermissionDenied):
            require_role(member, Job, Role.OPERATOR, pk=job.pk)


def test_token_role_limits_the_role_of_its_user(owner, make_job):
    make_job()
    token, _ = ApiToken.objects.issue(owner, "watch", role=Role.READER)

    assert visible_rows(caller(owner, token), Job).exists()
    assert not visible_rows(caller(owner, token), Job, Role.OPERATOR).exists()


def test_token_role_does_not_extend_the_role_of_its_user(make_user, make_job):
    job = make_job()
    reader = make_user("rita", Role.READER)
    token, _ = ApiToken.objects.issue(reader, "big", role=Role.OWNER)

    with pytest.raises(PermissionDenied):
        require_role(caller(reader, token), Job, Role.OPERATOR, pk=job.pk)


@pytest.mark.parametrize("role", Role)
def test_rows_of_other_subscriptions_are_not_found_for_each_role(make_user, other_subscription, role):
    collection_of_others = JobCollection.objects.create(subscription=other_subscription, name="theirs")

    with pytest.raises(Http404) as not_visible:
        require_role(caller(make_user("m")), JobCollection, role, pk=collection_of_others.pk)
    with pytest.raises(Http404) as missing:
        require_role(caller(make_user("n")), JobCollection, role, pk=collection_of_others.pk + 1)

    assert str(not_visible.value) == str(missing.value)


def test_visible_rows_accepts_a_queryset(owner, make_job):
    make_job()

    assert not visible_rows(caller(owner), Job.objects.filter(name="other")).exists()
    assert visible_rows(caller(owner), JobCollection.objects.get().jobs).exists()


def test_row_created_between_two_queries_is_not_forbidden(owner, subscription):
    made = []

    def create_after_query(execute, *arguments):
        result = execute(*arguments)
        if not made:
            made.append("nightly")
            JobCollection.objects.create(subscription=subscription, name="nightly")
        return result

    with connection.execute_wrapper(create_after_query):
        found = require_role(caller(owner), JobCollection, Role.OPERATOR, name="nightly")

    assert found.name == "nightly"
