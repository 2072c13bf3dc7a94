"""Actions of the type Task: what is accepted, and how a worker runs the callable."""

import asyncio
import os
import subprocess
import sys
import threading
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connections
from django.urls import reverse

from api.errors import Invalid
from jobs import actions, registry
from jobs.action_text import action_in_words
from jobs.actions import documents, task
from jobs.actions.task import Threads, one_line
from jobs.call_test import Part, run_call_test
from jobs.models import Job, Run
from jobs.run_now import run_now
from jobs.warnings import warnings_of
from jobs.worker import calls as worker_calls
from jobs.worker.calls import HttpPool
from jobs.worker.concurrency import CallLimiter
from jobs.worker.execution import Worker
from tests.conftest import ACTION, NOW
from tests.peers.server import eventually

NO_RETRY = {"retryType": "None"}
called: list = []


@registry.task("tests.note")
def note(arguments, context):
    called.append((dict(arguments), context, threading.current_thread()))
    arguments["seen"] = True
    return f"noted\n{arguments.get('what', 'nothing')}"


@registry.task("tests.silent")
def silent(arguments, context):
    return None


@registry.task("tests.raises")
def raises(arguments, context):
    raise ValueError("the ledger\nis locked")


@registry.task("tests.exits")
def exits(arguments, context):
    sys.exit("enough")


@registry.task("tests.counts-jobs")
def counts_jobs(arguments, context):
    called.append(connections["default"])
    return f"{Job.objects.count()} jobs"


@registry.task("tests.waits")
def waits(arguments, context):
    goes_on.wait(30)
    called.append("over")


goes_on = threading.Event()


@pytest.fixture(autouse=True)
def reset_called():
    called.clear()
    goes_on.clear()
    yield
    goes_on.set()


def task_action(name: str, **members) -> dict:
    arguments = {"arguments": members.pop("arguments")} if "arguments" in members else {}
    return {"type": "Task", "task": {"name": name, **arguments}, "retryPolicy": NO_RETRY, **members}


@pytest.fixture
def perform(make_job):
    """Return a function that runs a job with this action to its end and returns the run and its attempts."""

    def perform(action: dict, name="nightly", limiter=None):
        run = run_now(make_job(name, action=action), NOW)
        with HttpPool(limiter or CallLimiter(limit=100, per_host=50)) as calls:
            worker = Worker("worker", calls, lambda: NOW)
            worker.start_runs([str(run.pk)])
            worker.run_until_idle()
        run.refresh_from_db()
        return run, list(run.attempts.order_by("number"))

    return perform


# Registering


def test_task_is_found_by_its_name():
    assert registry.find("tests.note") is note
    assert "tests.note" in registry.names()
    assert registry.find("json.dumps") is None


@pytest.mark.parametrize("name", ["", "a b", "a/b", ".hidden", "x" * 101, "é"])
def test_malformed_task_name_is_refused(name):
    with pytest.raises(ValueError, match="letters"):
        registry.task(name)


def test_two_tasks_with_one_name_are_refused():
    with pytest.raises(ValueError, match="two tasks"):
        registry.task("tests.note")(silent)

    assert registry.find("tests.note") is note


def test_coroutine_function_as_a_task_is_refused():
    async def asynchronous(arguments, context):
        pass

    with pytest.raises(TypeError, match="thread"):
        registry.task("tests.asynchronous")(asynchronous)


@pytest.fixture
def manage(tmp_path):
    """Return a function that runs a management command of an installation with an additional app."""
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "__init__.py").touch()
    (tmp_path / "reports" / "job_tasks.py").write_text(
        "from jobs.registry import task\n\n@task('reports.refresh')\ndef refresh(arguments, context): pass\n"
    )

    def manage(apps: str, *arguments: str) -> subprocess.CompletedProcess:
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "DATA_DIR": str(tmp_path), "EXTRA_APPS": apps}
        environment["DJANGO_SETTINGS_MODULE"] = "scheduler_site.settings"
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True)

    return manage


def test_installation_can_add_tasks_in_its_own_app(manage):
    listed = manage("reports", "shell", "-c", "from jobs import registry; print(registry.names())")

    assert "'reports.refresh'" in listed.stdout, listed.stderr
    assert "'MINT.XEFEED'" in listed.stdout


@pytest.mark.parametrize("apps", ["nowhere", "reports,a b", "../reports"])
def test_missing_app_ends_the_start_with_one_line(manage, apps):
    ended = manage(apps, "check")

    assert ended.returncode == 1
    assert ended.stderr.startswith("quando: EXTRA_APPS must list packages that Python finds, not ")
    assert len(ended.stderr.splitlines()) == 1


# Documents


def parsed(action: dict) -> dict:
    return documents.parse(action).document


@pytest.mark.parametrize(
    "arguments", [{}, {"days": 3, "names": ["a", None], "deep": {"x": 1.5, "y": False}}, {"clé": "☂"}]
)
def test_name_and_arguments_of_a_task_are_stored_unchanged(arguments):
    assert parsed(task_action("tests.note", arguments=arguments))["task"] == {
        "name": "tests.note",
        "arguments": arguments,
    }


def test_type_task_is_read_in_any_case_and_arguments_are_optional():
    assert parsed({"type": "task", "task": {"name": "tests.note"}}) == {"type": "Task", "task": {"name": "tests.note"}}


@pytest.mark.parametrize(
    "change, path, code",
    [
        ({"task": None}, "action.task", "required"),
        ({"task": []}, "action.task", "wrong_type"),
        ({"task": {}}, "action.task.name", "required"),
        ({"task": {"name": 5}}, "action.task.name", "wrong_type"),
        ({"task": {"name": "json.dumps"}}, "action.task.name", "unknown_value"),
        ({"task": {"name": "TESTS.NOTE"}}, "action.task.name", "unknown_value"),
        ({"task": {"name": "x" * 101}}, "action.task.name", "too_long"),
        ({"task": {"name": "tests.note", "arguments": [1]}}, "action.task.arguments", "wrong_type"),
        ({"task": {"name": "tests.note", "arguments": "x"}}, "action.task.arguments", "wrong_type"),
        ({"task": {"name": "tests.note", "arguments": {"a": "x" * 9000}}}, "action.task.arguments", "too_long"),
        ({"task": {"name": "tests.note", "arguments": {"a": ["\0"]}}}, "action.task.arguments", "malformed"),
        ({"task": {"name": "tests.note", "arguments": {"\ud800": 1}}}, "action.task.arguments", "malformed"),
        ({"task": {"name": "tests.note", "arguments": {"a": float("nan")}}}, "action.task.arguments", "malformed"),
        ({"template": True}, "action.template", "invalid"),
    ],
)
def test_wrong_task_action_is_refused_with_its_path(change, path, code):
    with pytest.raises(Invalid) as refusal:
        parsed(task_action("tests.note") | change)

    assert (refusal.value.path, refusal.value.code) == (path, code)


def test_error_for_an_unknown_task_lists_the_known_ones_most_similar_first(api, make_job):
    job = make_job()

    response = api.patch(f"/api/jobs/{job.pk}", {"action": {"type": "Task", "task": {"name": "test.notes"}}})

    error = response.json()["error"]
    assert (response.status_code, error["target"]) == (400, "action.task.name")
    assert "there is tests.note, tests." in error["message"]
    with pytest.raises(Invalid) as refusal:
        parsed(task_action("test.notes"))
    assert all(name in refusal.value.message for name in registry.names())


def test_task_can_be_an_error_action():
    action = parsed({**ACTION, "errorAction": task_action("tests.note")})

    assert action["errorAction"]["task"] == {"name": "tests.note"}


def test_summary_of_a_task_action_names_the_task():
    assert action_in_words(task_action("tests.note")) == "task tests.note"
    assert warnings_of(task_action("tests.note"), NOW) == []


def test_own_api_accepts_and_returns_a_task_action(api, collection):
    action = task_action("tests.note", arguments={"days": 3})
    body = {"collection": collection.pk, "name": "nightly", "action": action, "recurrence": {"frequency": "Day"}}

    response = api.post("/api/jobs", body)

    assert response.status_code == 201, response.json()
    assert response.json()["action"] == action


# In a worker


@pytest.mark.django_db(transaction=True)
def test_task_gets_its_arguments_and_its_run_and_returns_a_message(perform):
    run, (attempt,) = perform(task_action("tests.note", arguments={"what": "rain"}))

    ((arguments, context, _),) = called
    assert arguments == {"what": "rain"}
    assert (context.run_id, context.attempt, context.fire_at) == (run.pk, 1, NOW)
    assert (context.job, context.collection) == ("nightly", "nightly")
    assert (run.state, attempt.state, attempt.message) == ("succeeded", "succeeded", "noted rain")
    assert run.action.document["task"]["arguments"] == {"what": "rain"}  # the callable changed only its own copy


@pytest.mark.django_db(transaction=True)
def test_each_task_runs_in_its_own_thread_that_ends_with_it(perform):
    perform(task_action("tests.note"), "first")
    perform(task_action("tests.note"), "second")

    threads = [thread for _, _, thread in called]
    assert threads[0] is not threads[1]
    assert {thread.name for thread in threads} == {"task"}
    assert eventually(lambda: not any(thread.is_alive() for thread in threads))


@pytest.mark.django_db(transaction=True)
def test_task_can_use_the_database_and_its_connection_is_closed(perform):
    _run, (attempt,) = perform(task_action("tests.counts-jobs"))

    (connection,) = called
    assert attempt.message == "1 jobs"
    assert connection is not connections["default"]
    assert connection.connection is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "name, message",
    [("tests.raises", "ValueError: the ledger is locked"), ("tests.exits", "SystemExit: enough")],
)
def test_exception_of_a_task_is_a_failed_attempt_with_its_message_only(perform, caplog, name, message):
    run, (attempt,) = perform(task_action(name))

    assert (run.state, attempt.state, attempt.message) == ("failed", "failed", message)
    assert (attempt.response_body, attempt.status_code) == ("", None)
    assert "Traceback" in caplog.text  # in the log of the worker


@pytest.mark.django_db(transaction=True)
def test_failed_task_is_retried_by_the_retry_policy(perform):
    policy = {"retryType": "Fixed", "retryCount": 1, "retryInterval": "PT15S"}

    run, _ = perform(task_action("tests.raises", retryPolicy=policy))

    assert (run.state, run.not_before) == ("retrying", NOW + timedelta(seconds=15))


@pytest.mark.django_db(transaction=True)
def test_task_that_returns_nothing_has_a_default_message(perform):
    _, (attempt,) = perform(task_action("tests.silent"))

    assert (attempt.state, attempt.message) == ("succeeded", "Done.")


@pytest.mark.django_db(transaction=True)
def test_task_unknown_to_the_worker_is_a_failed_attempt(perform, monkeypatch):
    action = task_action("tests.silent")
    monkeypatch.setattr(documents, "KINDS", {**documents.KINDS, "Task": ("task", lambda members, *rest: members.value)})
    action["task"]["name"] = "tests.elsewhere"

    run, (attempt,) = perform(action)

    assert (run.state, attempt.message) == ("failed", "This worker knows no task 'tests.elsewhere'.")


@pytest.mark.django_db(transaction=True)
def test_task_that_does_not_end_fails_and_uses_its_thread_until_it_ends(perform, monkeypatch):
    monkeypatch.setattr(worker_calls, "ATTEMPT_LIMIT_S", 0.2)
    threads = Threads(1)
    monkeypatch.setattr(task, "threads", lambda: threads)
    monkeypatch.setattr(task, "ACQUIRE_TIMEOUT_S", 0.1)

    _, (attempt,) = perform(task_action("tests.waits"), "first")
    monkeypatch.setattr(worker_calls, "ATTEMPT_LIMIT_S", 30)
    _, (behind,) = perform(task_action("tests.silent"), "second")
    goes_on.set()
    assert eventually(lambda: called == ["over"])
    monkeypatch.setattr(task, "ACQUIRE_TIMEOUT_S", 30)
    _, (after,) = perform(task_action("tests.silent"), "third")

    assert attempt.message == "The action did not end within 0 seconds."
    assert "No thread was free" in behind.message
    assert (behind.state, after.state) == ("failed", "succeeded")


@pytest.mark.django_db(transaction=True)
def test_task_runs_as_the_error_action_of_a_failed_call(make_job):
    action = {
        "type": "Http",
        "request": {"uri": "http://127.0.0.1:9/", "method": "GET"},
        "retryPolicy": NO_RETRY,
        "errorAction": task_action("tests.note", arguments={"what": "alarm"}),
    }
    run = run_now(make_job(action=action), NOW)
    with HttpPool(CallLimiter(limit=100, per_host=50)) as calls:
        worker = Worker("worker", calls, lambda: NOW)
        worker.start_runs([str(run.pk)])
        worker.run_until_idle()
        alarm = Run.objects.get(parent=run)
        worker.start_runs([str(alarm.pk)])
        worker.run_until_idle()

    ((arguments, context, _),) = called
    assert (arguments, context.run_id) == ({"what": "alarm"}, alarm.pk)


def test_all_tasks_of_a_worker_share_a_few_slots():
    limiter = CallLimiter(100, 50, host_limits={task.HOST: 2})
    host = actions.host_of(task_action("tests.note"))

    slots = [limiter.acquire(host) for _ in range(3)]

    assert [slot is not None for slot in slots] == [True, True, False]
    assert actions.host_of(task_action("tests.silent")) == host
    assert limiter.acquire("elsewhere")


def test_event_loop_continues_while_a_task_runs():
    async def both():
        running = asyncio.create_task(Threads(1).run(lambda: goes_on.wait(10)))
        await asyncio.sleep(0)
        goes_on.set()
        return await running

    assert asyncio.run(both())


@pytest.mark.parametrize(
    "text, line", [("a\n b\tc", "a b c"), ("\0x\ud800", "x?"), ("y" * 2000, "y" * 999 + "…"), (" ", "")]
)
def test_message_of_a_task_is_one_line_that_can_be_stored(text, line):
    assert one_line(text) == line


# Pages


@pytest.mark.django_db(transaction=True)
def test_task_action_can_be_tested(make_job):
    job = make_job(action=task_action("tests.note", arguments={"what": "rain"}))

    tested = run_call_test(job, Part.ACTION, NOW)

    assert (tested.result.succeeded, tested.result.message) == (True, "noted rain")
    assert tested.request == {"name": "tests.note", "arguments": {"what": "rain"}}


@pytest.fixture
def change(client, owner):
    """Return a function that posts the form of a job as it is shown, with some fields changed."""

    def change(job, **fields):
        client.force_login(owner)
        address = reverse("admin:jobs_job_change", args=[job.pk])
        form = client.get(address).context["form"]
        shown = {name: form[name].value() for name in form.fields} | fields
        response = client.post(address, {name: value for name, value in shown.items() if value not in (None, False)})
        assert response.status_code == 302, response.context["form"].errors
        job.refresh_from_db()
        return form["what"].value(), job.action.document

    return change


@pytest.mark.parametrize(
    "arguments", [{}, {"authentication": {"password": "no secret"}, "list": [1, {"a": None}], "none": {}}]
)
def test_form_fields_preserve_a_task_action(make_job, change, arguments):
    action = parsed(task_action("tests.note", arguments=arguments))

    mode, document = change(make_job(action=action), misfire="skip")

    assert (mode, document) == ("fields", action)


def test_json_field_preserves_task_actions_that_the_fields_cannot_show(make_job, change, monkeypatch):
    action = parsed(task_action("tests.note", arguments={"authentication": {"password": "no secret"}}))
    job = make_job(action={**ACTION, "errorAction": action})
    monkeypatch.setattr(registry, "names", lambda: [])
    other = make_job("other", action=action)

    assert change(job, misfire="skip") == ("fields", {**ACTION, "errorAction": action})
    assert change(other, misfire="skip") == ("json", action)


def test_form_fields_change_a_task_action(make_job, change):
    job = make_job()

    _, document = change(job, type="Task", task_name="tests.silent", task_arguments='{"a": [1]}')

    assert document == {"type": "Task", "task": {"name": "tests.silent", "arguments": {"a": [1]}}}
    assert change(job, task_arguments="")[1] == {"type": "Task", "task": {"name": "tests.silent"}}


@pytest.mark.django_db(transaction=True)
def test_page_of_a_run_shows_the_called_task(client, owner, perform):
    run, _ = perform(task_action("tests.note", arguments={"what": "rain"}))
    client.force_login(owner)

    page = client.get(reverse("admin:jobs_run_change", args=[run.pk])).content.decode()

    assert "tests.note" in page
    assert "&quot;what&quot;: &quot;rain&quot;" in page
    assert "noted rain" in page
