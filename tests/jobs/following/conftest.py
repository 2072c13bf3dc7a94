"""Jobs whose request starts an operation at a real target."""

import pytest

from tests.jobs.following.operations import accepted
from tests.peers.server import Answer


@pytest.fixture
def target(target, settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]
    return target


@pytest.fixture
def starting(target, make_job):
    """Return a function that creates a job that starts an operation; polls return `statuses` in turn."""

    def make(*statuses: Answer, name="rebuild", method="POST", policy=None, limit=None, error_path=None, **fields):
        target.answers["/start"] = [accepted(target)]
        target.answers["/status"] = list(statuses)
        action = {
            "type": "Http",
            "request": {"uri": f"{target.url}/start", "method": method},
            "follow": True,
            "retryPolicy": policy or {"retryType": "None"},
        }
        if limit:
            action["followLimit"] = limit
        if error_path:
            action["errorAction"] = {"type": "Http", "request": {"uri": target.url + error_path, "method": "POST"}}
        return make_job(name, action=action, **fields)

    return make
