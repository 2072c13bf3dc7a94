"""The published Python client of the original service, unchanged, with a running installation.

It sends its token without TLS only if each call allows it, see PLAIN.
"""

from datetime import UTC, datetime, timedelta

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceNotFoundError,
)
from azure.mgmt.scheduler import SchedulerManagementClient, models
from azure.mgmt.scheduler.patch import patch_client

from tests.peers.server import eventually

PLAIN = {"enforce_https": False}
GROUP = "sdk"


class Credential:
    """A credential with an existing token."""

    def __init__(self, token: str):
        self.token = token

    def get_token(self, *scopes: str, **settings) -> AccessToken:
        return AccessToken(self.token, int(datetime(2100, 1, 1, tzinfo=UTC).timestamp()))


@pytest.fixture
def make_client(live):
    clients = []

    def make(token: str | None = None, subscription_id: str | None = None) -> SchedulerManagementClient:
        client = SchedulerManagementClient(
            Credential(token or live.token), subscription_id or live.subscription_id, base_url=live.url, retry_total=0
        )
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(make_client):
    return make_client()


@pytest.fixture
def collection(client, request) -> str:
    """The name of a new collection, which is deleted after the test."""
    name = request.node.name.replace("[", "-").replace("]", "")[:90]
    definition = models.JobCollectionDefinition(
        location="westus", properties=models.JobCollectionProperties(sku=models.Sku(name="P20Premium"))
    )
    client.job_collections.create_or_update(GROUP, name, definition, **PLAIN)
    yield name
    client.job_collections.begin_delete(GROUP, name, **PLAIN).result()


def http_action(uri: str = "http://127.0.0.1:9/", **fields) -> models.JobAction:
    request = models.HttpRequest(uri=uri, method="GET", **fields.pop("request", {}))
    return models.JobAction(type="Http", request=request, **fields)


def job(**fields) -> models.JobDefinition:
    fields = {"action": http_action(), "start_time": in_days(30), **fields}
    return models.JobDefinition(properties=models.JobProperties(**fields))


def in_days(days: int) -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(days=days)


# Collections


def test_collection_is_created_changed_and_deleted(client):
    sent = models.JobCollectionDefinition(
        location="westus",
        tags={"team": "ops"},
        properties=models.JobCollectionProperties(
            sku=models.Sku(name=models.SkuDefinition.STANDARD),
            state=models.JobCollectionState.ENABLED,
            quota=models.JobCollectionQuota(
                max_job_count=5,
                max_job_occurrence=7,
                max_recurrence=models.JobMaxRecurrence(frequency=models.RecurrenceFrequency.HOUR, interval=1),
            ),
        ),
    )
    collections = client.job_collections

    created = collections.create_or_update(GROUP, "life", sent, **PLAIN)
    assert (created.name, created.location, created.tags) == ("life", "West US", {"team": "ops"})
    # as_dict has no provisioningState, which the client does not know
    assert created.properties.as_dict() == sent.properties.as_dict()
    assert collections.create_or_update(GROUP, "life", sent, **PLAIN) == created
    assert collections.get(GROUP, "LIFE", **PLAIN) == created

    patched = collections.patch(GROUP, "life", models.JobCollectionDefinition(tags={"stage": "test"}), **PLAIN)
    assert (patched.tags, patched.properties.as_dict()) == ({"stage": "test"}, sent.properties.as_dict())

    assert collections.begin_disable(GROUP, "life", **PLAIN).result() is None
    assert collections.get(GROUP, "life", **PLAIN).properties.state == models.JobCollectionState.DISABLED
    assert collections.begin_enable(GROUP, "life", **PLAIN).result() is None
    assert collections.get(GROUP, "life", **PLAIN).properties.state == models.JobCollectionState.ENABLED

    assert collections.begin_delete(GROUP, "life", **PLAIN).result() is None
    with pytest.raises(ResourceNotFoundError):
        collections.get(GROUP, "life", **PLAIN)


def test_collections_are_listed_by_group_and_by_subscription(client, collection):
    by_group = [found.name for found in client.job_collections.list_by_resource_group(GROUP, **PLAIN)]
    by_subscription = [found.id for found in client.job_collections.list_by_subscription(**PLAIN)]

    assert collection in by_group
    assert any(
        id.endswith(f"/{GROUP}/providers/Microsoft.Scheduler/jobCollections/{collection}") for id in by_subscription
    )


@pytest.fixture
def many_collections(live):
    """Fill the resource group `many` for this test; the plan Standard limits their number for all other tests."""

    def run(statement: str) -> None:
        imports = "from accounts.models import Subscription; from jobs.models import JobCollection;"
        live.manage("shell", "--verbosity", "0", "--command", imports + statement)

    run(
        f"subscription = Subscription.objects.get(pk='{live.subscription_id}');"
        "JobCollection.objects.bulk_create(JobCollection(subscription=subscription, resource_group='many',"
        " name=f'c{number:04}') for number in range(1001))"
    )
    yield
    run("JobCollection.objects.filter(resource_group='many').delete()")


def test_pager_reads_all_pages(client, many_collections):
    pages = [list(page) for page in client.job_collections.list_by_resource_group("many", **PLAIN).by_page()]

    assert [len(page) for page in pages] == [1000, 1]
    assert [found.name for page in pages for found in page] == [f"c{number:04}" for number in range(1001)]


# Jobs


def test_job_is_created_changed_and_deleted(client, collection):
    sent = job(
        start_time=in_days(1),
        state=models.JobState.ENABLED,
        action=http_action(
            request={
                "headers": {"X-Kind": "nightly"},
                "body": "hello",
                "authentication": models.BasicAuthentication(username="ada", password="pw"),
            },
            retry_policy=models.RetryPolicy(
                retry_type=models.RetryType.FIXED, retry_interval=timedelta(minutes=1), retry_count=2
            ),
            error_action=models.JobErrorAction(
                type=models.JobActionType.STORAGE_QUEUE,
                queue_message=models.StorageQueueMessage(
                    storage_account="acct", queue_name="jobs", sas_token="?sig", message="failed"
                ),
            ),
        ),
        recurrence=models.JobRecurrence(
            frequency=models.RecurrenceFrequency.MONTH,
            interval=1,
            count=10000,
            end_time=in_days(500),
            schedule=models.JobRecurrenceSchedule(
                hours=[5],
                minutes=[15],
                monthly_occurrences=[
                    models.JobRecurrenceScheduleMonthlyOccurrence(day=models.JobScheduleDay.FRIDAY, occurrence=-1)
                ],
            ),
        ),
    )

    created = client.jobs.create_or_update(GROUP, collection, "life", sent, **PLAIN)
    assert created.name == f"{collection}/life"
    assert created.properties.state == models.JobState.ENABLED
    assert created.properties.start_time == sent.properties.start_time
    assert created.properties.recurrence == sent.properties.recurrence
    assert created.properties.action.retry_policy == sent.properties.action.retry_policy
    assert created.properties.action.request.authentication == models.BasicAuthentication(username="ada")
    assert created.properties.action.error_action.queue_message.sas_token is None
    assert created.properties.status.execution_count == 0
    assert created.properties.status.next_execution_time >= sent.properties.start_time
    assert created.properties.status.next_execution_time.strftime("%A %H:%M") == "Friday 05:15"

    assert client.jobs.create_or_update(GROUP, collection, "life", sent, **PLAIN) == created
    assert client.jobs.get(GROUP, collection, "Life", **PLAIN) == created

    disabled = job(action=None, start_time=None, state=models.JobState.DISABLED)
    patched = client.jobs.patch(GROUP, collection, "life", disabled, **PLAIN)
    assert patched.properties.state == models.JobState.DISABLED
    assert patched.properties.status is None
    assert patched.properties.recurrence == sent.properties.recurrence

    assert client.jobs.delete(GROUP, collection, "life", **PLAIN) is None
    with pytest.raises(ResourceNotFoundError):
        client.jobs.get(GROUP, collection, "life", **PLAIN)


@pytest.mark.parametrize(
    "action",
    [
        models.JobAction(
            type="ServiceBusQueue",
            service_bus_queue_message=models.ServiceBusQueueMessage(
                namespace="orders",
                queue_name="inbox",
                transport_type="AMQP",
                message="hello",
                custom_message_properties={"k": "v"},
                authentication=models.ServiceBusAuthentication(
                    type="SharedAccessKey", sas_key_name="send", sas_key="k"
                ),
                brokered_message_properties=models.ServiceBusBrokeredMessageProperties(
                    content_type="text/plain",
                    force_persistence=True,
                    scheduled_enqueue_time_utc=datetime(2030, 1, 1, 8, tzinfo=UTC),
                    time_to_live=timedelta(days=2, minutes=1),
                ),
            ),
        ),
        models.JobAction(
            type="ServiceBusTopic",
            service_bus_topic_message=models.ServiceBusTopicMessage(namespace="orders", topic_path="a/b", message="x"),
        ),
        http_action(
            request={
                "authentication": models.OAuthAuthentication(
                    tenant="contoso.example", audience="https://api.example", client_id="app", secret="s"
                )
            }
        ),
    ],
    ids=["queue", "topic", "oauth"],
)
def test_every_type_of_action_is_returned_without_its_secrets(client, collection, action):
    returned = client.jobs.create_or_update(GROUP, collection, "job", job(action=action), **PLAIN).properties.action

    if action.service_bus_queue_message:
        action.service_bus_queue_message.authentication.sas_key = None
    if action.request:
        action.request.authentication.secret = None
    assert returned == action


def test_keys_in_a_uri_are_returned_masked_and_preserved(client, collection):
    uri = "http://127.0.0.1:9/hook?code=violet-harbour&page=1"
    action = http_action(uri, request={"headers": {"X-Passwd": "amber-lantern", "X-Tag": "a"}})
    client.jobs.create_or_update(GROUP, collection, "keyed", job(action=action), **PLAIN)

    returned = client.jobs.get(GROUP, collection, "keyed", **PLAIN)
    assert returned.properties.action.request.uri == "http://127.0.0.1:9/hook?code=********&page=1"
    assert returned.properties.action.request.headers == {"X-Passwd": "********", "X-Tag": "a"}
    again = client.jobs.create_or_update(GROUP, collection, "keyed", returned, **PLAIN)

    assert again.properties.action == returned.properties.action
    returned.properties.action.request.uri = "http://127.0.0.1:10/hook?code=********"
    with pytest.raises(HttpResponseError, match="must hold the value of code"):
        client.jobs.create_or_update(GROUP, collection, "keyed", returned, **PLAIN)


def test_patched_client_reads_its_own_format_of_durations(client, collection):
    patch_client(client)
    action = http_action(retry_policy=models.RetryPolicy(retry_type="Fixed", retry_interval=timedelta(minutes=1)))

    client.jobs.create_or_update(GROUP, collection, "job", job(action=action), **PLAIN)

    policy = client.jobs.get(GROUP, collection, "job", **PLAIN).properties.action.retry_policy
    assert policy.retry_interval == timedelta(minutes=1)


def test_jobs_are_listed_and_filtered(client, collection):
    for name, state in [("a", "Enabled"), ("b", "Disabled"), ("c", "Enabled")]:
        client.jobs.create_or_update(GROUP, collection, name, job(state=state), **PLAIN)

    def names(**query) -> list[str]:
        return [found.name.partition("/")[2] for found in client.jobs.list(GROUP, collection, **query, **PLAIN)]

    assert names() == ["a", "b", "c"]
    assert names(top=2) == ["a", "b"]
    assert names(top=1, skip=1) == ["b"]
    assert names(filter="state eq Enabled") == ["a", "c"]
    assert names(filter="state eq Faulted") == []


def schedules() -> dict[str, dict]:
    """Return schedules that the client has no words for, and one in UTC that it has, by the names of jobs."""
    start = f"{in_days(1):%Y-%m-%dT10:00:00}"
    berlin = {"dateTime": start, "timeZone": "Europe/Berlin"}
    return {
        "cron-in-berlin": {"format": "quartz", "expression": "0 0 9 ? * MON-FRI", "timeZone": "Europe/Berlin"},
        "cron-in-utc": {"format": "quartz", "expression": "0 30 9 ? * MON-FRI"},
        "interval": {"format": "simple", "interval": 5_400_000},  # counts from its creation, with its microseconds
        "once": {"format": "once", "at": f"{start}.123456Z"},
        "series": {"format": "rrule", "start": berlin, "rrule": "FREQ=MONTHLY;BYDAY=2MO"},
    }


@pytest.fixture
def of_other_formats(live, client, collection) -> dict[str, str]:
    """The addresses in our own API of jobs with such schedules, by name."""
    found = live.request("GET", f"/api/collections?name={collection}")[1]["value"]
    [collection_id] = [each["id"] for each in found if each["name"] == collection]
    action = {"type": "Http", "request": {"uri": "http://127.0.0.1:9/", "method": "GET"}}
    addresses = {}
    for name, schedule in schedules().items():
        document = {"collection": collection_id, "name": name, "action": action, "schedule": schedule}
        status, job = live.request("POST", "/api/jobs", document)
        assert status == 201, job
        addresses[name] = f"/api/jobs/{job['id']}"
    return addresses


def test_jobs_with_schedules_of_other_formats_are_listed_and_read(client, collection, of_other_formats):
    listed = {found.name.partition("/")[2]: found for found in client.jobs.list(GROUP, collection, **PLAIN)}

    assert listed.keys() == of_other_formats.keys()
    for name, job in listed.items():
        assert client.jobs.get(GROUP, collection, name, **PLAIN).properties.start_time == job.properties.start_time
        assert job.properties.start_time is not None
        assert job.properties.status.next_execution_time is not None
    recurrences = {name: job.properties.recurrence for name, job in listed.items() if job.properties.recurrence}
    assert recurrences.keys() == {"cron-in-utc"}
    assert recurrences["cron-in-utc"].frequency == models.RecurrenceFrequency.WEEK
    assert listed["once"].properties.start_time.microsecond == 123_000


@pytest.mark.parametrize("write", ["create_or_update", "patch"])
def test_job_with_a_schedule_of_another_format_is_sent_back_as_it_was_read(
    live, client, collection, of_other_formats, write
):
    for name, address in of_other_formats.items():
        schedule = live.request("GET", address)[1]["schedule"]
        read = client.jobs.get(GROUP, collection, name, **PLAIN)

        written = getattr(client.jobs, write)(GROUP, collection, name, read, **PLAIN)

        assert written.properties.start_time == read.properties.start_time
        assert written.properties.recurrence == read.properties.recurrence
        assert live.request("GET", address)[1]["schedule"] == schedule


def test_changed_job_with_a_schedule_of_another_format_keeps_it(live, client, collection, of_other_formats):
    for name, address in of_other_formats.items():
        before = live.request("GET", address)[1]
        read = client.jobs.get(GROUP, collection, name, **PLAIN)
        read.properties.action.request.method = "PUT"
        client.jobs.create_or_update(GROUP, collection, name, read, **PLAIN)
        disabled = models.JobDefinition(properties=models.JobProperties(state=models.JobState.DISABLED))

        client.jobs.patch(GROUP, collection, name, disabled, **PLAIN)

        after = live.request("GET", address)[1]
        assert (after["state"], after["action"]["request"]["method"]) == ("disabled", "PUT")
        assert after["schedule"] == before["schedule"]


def test_manual_run_is_in_the_history(client, collection, target):
    action = http_action(f"{target.url}/by-hand")
    created = client.jobs.create_or_update(GROUP, collection, "job", job(action=action), **PLAIN)

    assert client.jobs.run(GROUP, collection, "job", **PLAIN) is None
    assert target.wait_for("/by-hand")

    def history(**query) -> list[models.JobHistoryDefinition]:
        return list(client.jobs.list_job_history(GROUP, collection, "job", **query, **PLAIN))

    [entry] = eventually(history)
    assert entry.name.startswith(f"{collection}/job/")
    assert entry.properties.status == models.JobExecutionStatus.COMPLETED
    assert entry.properties.action_name == models.JobHistoryActionName.MAIN_ACTION
    assert entry.properties.start_time <= entry.properties.end_time
    assert (entry.properties.retry_count, entry.properties.repeat_count) == (0, 0)
    assert "127.0.0.1" in entry.properties.message
    assert entry.properties.message.endswith("Body: ok")
    assert history(filter="status eq Completed", top=5) == [entry]
    assert history(filter="status eq Failed") == history(top=1, skip=1) == []

    status = client.jobs.get(GROUP, collection, "job", **PLAIN).properties.status
    assert (status.execution_count, status.failure_count) == (1, 0)
    assert status.last_execution_time is not None
    assert status.next_execution_time == created.properties.status.next_execution_time


def test_failed_scheduled_run_is_in_the_history_and_runs_the_error_action(client, collection, target):
    action = http_action(
        f"{target.url}/status/500",
        retry_policy=models.RetryPolicy(retry_type=models.RetryType.NONE),
        error_action=models.JobErrorAction(
            type="Http", request=models.HttpRequest(uri=f"{target.url}/sorry", method="POST", body="it failed")
        ),
    )
    client.jobs.create_or_update(GROUP, collection, "job", job(action=action, start_time=None), **PLAIN)

    [call] = target.wait_for("/sorry")
    assert call.body == "it failed"

    def history() -> list[models.JobHistoryDefinitionProperties] | None:
        found = list(client.jobs.list_job_history(GROUP, collection, "job", **PLAIN))
        return [entry.properties for entry in found] if len(found) == 2 else None

    error, main = eventually(history)
    assert (main.action_name, main.status, main.repeat_count) == ("MainAction", models.JobExecutionStatus.FAILED, 1)
    assert (error.action_name, error.status, error.repeat_count) == ("ErrorAction", "Completed", 1)

    finished = client.jobs.get(GROUP, collection, "job", **PLAIN).properties
    assert finished.state == models.JobState.FAULTED
    assert finished.status.next_execution_time is None
    assert finished.status.faulted_count == 1


# Errors


def test_a_missing_collection_or_job_is_not_found(client, collection):
    for call in (
        lambda: client.job_collections.get(GROUP, "nowhere", **PLAIN),
        lambda: client.job_collections.begin_delete(GROUP, "nowhere", **PLAIN),
        lambda: client.job_collections.begin_enable(GROUP, "nowhere", **PLAIN),
        lambda: client.jobs.get(GROUP, collection, "nothing", **PLAIN),
        lambda: client.jobs.delete(GROUP, collection, "nothing", **PLAIN),
        lambda: client.jobs.run(GROUP, collection, "nothing", **PLAIN),
        lambda: client.jobs.create_or_update(GROUP, "nowhere", "job", job(), **PLAIN),
        lambda: list(client.jobs.list_job_history(GROUP, collection, "nothing", **PLAIN)),
    ):
        with pytest.raises(ResourceNotFoundError) as caught:
            call()
        assert caught.value.error.code == "ResourceNotFound"


def test_etag_of_a_response_protects_against_lost_updates(client, collection):
    """The client has no parameter for ETags; they are sent as headers of a call."""
    tags = []

    def keep_tag(response, deserialized, headers):
        tags.append(response.http_response.headers["ETag"])
        return deserialized

    def known(tag: str) -> dict:
        return {"headers": {"If-Match": tag}, **PLAIN}

    client.jobs.create_or_update(GROUP, collection, "job", job(), headers={"If-None-Match": "*"}, **PLAIN)
    read = client.jobs.get(GROUP, collection, "job", cls=keep_tag, **PLAIN)
    client.jobs.create_or_update(GROUP, collection, "job", job(start_time=in_days(31)), **known(tags[0]))
    client.job_collections.get(GROUP, collection, cls=keep_tag, **PLAIN)
    client.job_collections.begin_disable(GROUP, collection, **known(tags[1])).result()

    for call in (
        lambda: client.jobs.create_or_update(GROUP, collection, "job", read, headers={"If-None-Match": "*"}, **PLAIN),
        lambda: client.jobs.create_or_update(GROUP, collection, "job", read, **known(tags[0])),
        lambda: client.jobs.delete(GROUP, collection, "job", **known(tags[0])),
        lambda: client.job_collections.begin_delete(GROUP, collection, **known(tags[1])),
    ):
        with pytest.raises(HttpResponseError) as caught:
            call()
        assert (caught.value.status_code, caught.value.error.code) == (412, "PreconditionFailed")


def test_other_subscription_is_not_found(make_client):
    client = make_client(subscription_id="11111111-2222-3333-4444-555555555555")

    with pytest.raises(ResourceNotFoundError):
        list(client.job_collections.list_by_subscription(**PLAIN))


def test_a_wrong_token_is_an_authentication_error(make_client):
    with pytest.raises(ClientAuthenticationError) as caught:
        list(make_client(token="wrong").job_collections.list_by_subscription(**PLAIN))

    assert caught.value.error.code == "AuthenticationFailed"


def test_error_for_a_wrong_job_has_a_code_and_a_target(client, collection):
    with pytest.raises(HttpResponseError) as caught:
        client.jobs.create_or_update(GROUP, collection, "job", job(action=http_action("ftp://example.com")), **PLAIN)

    assert caught.value.status_code == 400
    assert caught.value.error.code == "BadRequest"
    assert caught.value.error.target == "properties.action.request.uri"


def test_job_beyond_the_quota_is_a_conflict(client, collection):
    quota = models.JobCollectionQuota(max_job_count=1)
    limited = models.JobCollectionDefinition(properties=models.JobCollectionProperties(quota=quota))
    client.job_collections.patch(GROUP, collection, limited, **PLAIN)
    client.jobs.create_or_update(GROUP, collection, "first", job(), **PLAIN)

    with pytest.raises(ResourceExistsError) as caught:
        client.jobs.create_or_update(GROUP, collection, "second", job(), **PLAIN)

    assert caught.value.error.code == "ConflictError"
