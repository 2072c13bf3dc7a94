"""The incarnations that a change increases, and pruning of notices."""

from datetime import timedelta

import pytest

from accounts.models import Subscription
from maintenance import lifecycle, pruning, resources
from maintenance.models import Notice
from tests.maintenance.notices import (
    MINUTE,
    OPERATOR,
    T0,
    announce,
    cancel,
    complete,
    incarnations,
    note,
    resource,
    start,
    steps,
)

pytestmark = pytest.mark.django_db

SCHEDULED, STARTED, COMPLETED, _ = Notice.Status
LATER = T0 + MINUTE


@pytest.fixture
def db2(subscription):
    return resource(subscription)


def test_notice_increases_only_the_incarnations_of_its_views(subscription):
    db1, db2 = (resource(subscription, name, "databases") for name in ("db-1", "db-2"))
    web, mail = resource(subscription, "web"), resource(subscription, "mail")
    for each in (db1, web, mail):
        announce(each)
    before = incarnations(subscription)

    notice = announce(db1, db2, web)

    assert incarnations(subscription) == {
        **before,
        "": before[""] + 1,
        "group databases": before["group databases"] + 1,
        "resource web": before["resource web"] + 1,
    }
    start(notice, LATER)
    assert incarnations(subscription)["resource mail"] == before["resource mail"]


def test_notice_does_not_change_incarnations_of_other_subscriptions(subscription, db2):
    other = Subscription.objects.create(name="other")
    resource_of_others = resource(other, "db-2")
    announce(resource_of_others)
    before = incarnations(other)

    notice = announce(db2, has_started=True)
    complete(notice, LATER)

    assert incarnations(other) == before


def test_change_of_resources_increases_the_incarnations_of_old_and_new_ones(subscription, db2):
    web = resource(subscription, "web")
    notice = announce(db2)

    lifecycle.change(notice, {"resources": [web], "duration_s": 60}, OPERATOR, LATER)

    assert incarnations(subscription) == {"": 3, "resource db-2": 3, "resource web": 2}
    assert [each.name for each in notice.affected_resources.all()] == ["web"]
    assert note(notice) == "changed: resources, durationInSeconds"


def test_incarnation_never_decreases_if_a_resource_changes_its_group(subscription, db2):
    for _ in range(5):
        cancel(announce(db2), LATER)
    notice = announce(resource(subscription, "web", "front"))
    before = incarnations(subscription)

    resources.change(db2, scope_group="front")

    after = incarnations(subscription)
    assert after["group front"] > max(before["group front"], before["resource db-2"])
    assert all(after[view] >= before[view] for view in before)
    start(notice, LATER)
    assert incarnations(subscription)["group front"] == after["group front"] + 1


def test_incarnation_never_decreases_if_a_resource_or_notice_is_deleted(subscription, db2, settings):
    settings.RETENTION_DAYS = 1
    notice = announce(db2)
    incarnations_before = incarnations(subscription)

    resources.unregister(db2)
    after_removal = incarnations(subscription)
    cancel(notice, LATER)
    pruning.prune(LATER + timedelta(days=2))

    assert after_removal == {**incarnations_before, "resource db-2": incarnations_before["resource db-2"] + 1}
    assert not Notice.objects.exists()
    assert incarnations(subscription) == {**after_removal, "": after_removal[""] + 1}
    announce(resource(subscription))
    assert incarnations(subscription)["resource db-2"] == after_removal["resource db-2"] + 1


def test_history_of_a_notice_outlives_its_resources(db2):
    notice = announce(db2)
    resources.unregister(db2)

    lifecycle.change(notice, {"description": "a new kernel"}, OPERATOR, LATER)
    start(notice, LATER)
    complete(notice, LATER)

    assert [each.name for each in notice.affected_resources.all()] == ["db-2"]
    assert [step for step, _ in steps(notice)] == [SCHEDULED, SCHEDULED, STARTED, COMPLETED]


def test_notices_are_pruned_after_the_retention_period(db2, settings):
    settings.RETENTION_DAYS = 10
    open_notice, ended = announce(db2), announce(db2, has_started=True)
    complete(ended, LATER)

    pruning.prune(LATER + timedelta(days=10))
    assert Notice.objects.count() == 2
    pruning.prune(LATER + timedelta(days=10, seconds=1))
    assert list(Notice.objects.all()) == [open_notice]
