"""No secret that a test stores may come out again: in an answer, a log, another column or the repr of an object.

A plugin, at work in every test.  It remembers each text that goes through EncryptedSecretsField, in the forms in which
it travels, and looks for them in every answer and log record from then on; at the end of a test that stored any also in
all of the database and in what the stored objects say of themselves.
"""

import base64
import html
import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, quote, quote_plus, unquote

import pytest
from django.apps import apps
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.sessions.models import Session
from django.core.handlers.base import BaseHandler
from django.db import connection
from django.db.models.signals import post_save
from django.http import HttpResponseBase
from multidict import CIMultiDict, CIMultiDictProxy

from jobs import actions
from jobs.actions.documents import ParsedAction
from jobs.actions.http import Answer, Call
from jobs.actions.outcome import Context
from jobs.encryption import EncryptedSecretsField, Secrets, UnreadableSecret
from jobs.leasing import Leased
from jobs.models import SIGNING, Action, Attempt, Following, Run, SigningSecret
from tests.conftest import NOW
from triggers.definitions import JobDefinition

SHORTEST = 8  # characters of a secret: a shorter one could be anywhere by chance
OWN_APPS = ("accounts", "operations", "jobs", "triggers", "maintenance")
SHOWN_ONCE = re.compile(r"/api/jobs/\d+/signing-secret")  # answers a new signing secret, as its member `secret`
SHOWN_ONCE_PAGE = re.compile(r"/admin/jobs/job/\d+/signing/")  # shows it in an element of its own


class Watch:
    """What one test has stored, and where it was seen."""

    def __init__(self) -> None:
        self.needles: dict[str, str] = {}  # a form of a secret: which secret it is
        self.heard: list[str] = []
        self.leaks: list[str] = []

    def remember(self, path: str, text: object) -> None:
        if not text:
            return
        if not is_long(str(text)):
            self.leaks.append(f"{path} is too short to be told from other texts: take {SHORTEST} characters or more")
        for form in forms(path, str(text)):
            if is_long(form):
                self.needles.setdefault(form, path)

    def look(self, where: str, text: str) -> None:
        for needle, path in self.needles.items():
            if needle in text and (leak := f"{where} shows {path}") not in self.leaks:
                self.leaks.append(leak)

    def look_at_answer(self, request, response: HttpResponseBase) -> None:
        if not self.needles:
            return
        where = f"the answer to {request.method} {request.path}"
        self.look(where, "\n".join(said(request, response)))

    def look_at_the_rest(self) -> None:
        """After the test: what it has left behind."""
        for line in self.heard:
            self.look(f"the log ({line[:60]!r})", line)
        if not self.needles or connection.needs_rollback:
            return
        for where, text in (*dump(), *self_descriptions()):
            self.look(where, text)
        self.look_at_calls()

    def look_at_calls(self) -> None:
        """What calls say of themselves, also about what is not stored but made from it, such as a signature."""
        with suppress(UnreadableSecret):
            for call in (each for action in Action.objects.all()[:100] for each in on_the_way(action)):
                if isinstance(call, Call):
                    watch = Watch()
                    watch.needles = dict.fromkeys(filter(is_long, call.hidden), "what it hides")
                    watch.look(f"a call of {call.url.host}", f"{call!r} {call.shown()}")
                    self.leaks += watch.leaks


def is_long(text: str) -> bool:
    return len(text) >= SHORTEST


current = Watch()
WATCH = pytest.StashKey[Watch]()


@contextmanager
def watch_of_its_own() -> Iterator[Watch]:
    """Let somebody else watch meanwhile: for tests of the watch itself."""
    global current
    before, current = current, Watch()
    try:
        yield current
    finally:
        current = before


# What a secret looks like on its way


def forms(path: str, text: str) -> Iterator[str]:
    for part in (text, *parts(path, text)):
        yield part
        yield html.escape(part)
        yield json.dumps(part)[1:-1]
        yield json.dumps(part, ensure_ascii=False)[1:-1]
        yield repr(part)[1:-1]
        yield quote(part, safe="")
        yield quote_plus(part)
        yield unquote(part)


def parts(path: str, text: str) -> Iterator[str]:
    if ".headers." in f".{path}":
        yield text.partition(" ")[2]  # behind the scheme of an Authorization
    if path.endswith("sasToken"):
        yield from parse_qs(text.lstrip("?")).get("sig", ())
    if path == SIGNING:
        yield text.removeprefix("whsec_")


def pairs(document: Mapping, secrets: Mapping[str, str], place: str = "") -> Iterator[tuple[str, str]]:
    """What Basic authentication sends, by its path, for each of the places at which `secrets` holds its password."""
    for name, member in document.items():
        if isinstance(member, Mapping):
            yield from pairs(member, secrets, f"{place}{name}.")
    if document.get("type") == "Basic":
        pair = f"{document['username']}:{secrets.get(f'{place}password', '')}"
        yield f"{place}password", base64.b64encode(pair.encode()).decode()


# What is looked at


def said(request, response: HttpResponseBase) -> Iterator[str]:
    for name, value in response.items():
        yield f"{name}: {value}"
    for name, morsel in response.cookies.items():
        yield f"{name}={morsel.value}"
        if name == CookieStorage.cookie_name:
            yield from map(str, CookieStorage(request)._decode(morsel.value) or ())
    if response.streaming:
        return  # a file of the site
    body = response.content.decode(errors="replace")
    if request.method == "POST" and SHOWN_ONCE.fullmatch(request.path) and response.status_code == 201:
        body = json.dumps({name: value for name, value in json.loads(body).items() if name != "secret"})
    if request.method == "POST" and SHOWN_ONCE_PAGE.fullmatch(request.path):
        body = re.sub(r'<pre[^>]* id="secret">[^<]*</pre>', "", body)
    yield body


def dump() -> Iterator[tuple[str, str]]:
    """All there is in the database, row by row, and what sessions hold in their own packing."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            for row in cursor.fetchall():
                yield f"the table {table}", " ".join(map(as_text, row))
    for session in Session.objects.all():
        yield "a session", json.dumps(session.get_decoded())


def as_text(value: object) -> str:
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode("latin-1")
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def self_descriptions() -> Iterator[tuple[str, str]]:
    """str and repr of what the database holds and of what is made from it on the way to a call."""
    for model in apps.get_models():
        if model._meta.app_label in OWN_APPS:
            with suppress(UnreadableSecret):
                for row in model._base_manager.all()[:100]:
                    yield f"a {model.__name__}", f"{row} {row!r} {vars(row)}"
    with suppress(UnreadableSecret):
        for action in Action.objects.all()[:100]:
            for described in on_the_way(action):
                yield f"a {type(described).__name__}", f"{described} {described!r}"


def on_the_way(action: Action) -> Iterator[object]:
    signing = tuple(each.secrets[SIGNING] for each in SigningSecret.objects.all())
    context = Context(Run().pk, 1, NOW, NOW, "backup", "nightly", signing_secrets=signing)
    yield context
    yield ParsedAction(action.document, action.secrets)
    yield Leased(Run(action=action, fire_at=NOW), Attempt(), action.secrets, signing)
    yield JobDefinition(action=dict(action.secrets), schedule={})
    secrets: Mapping[str, str] = action.secrets
    for document in (action.document, action.document.get("errorAction")):
        if document and "type" in document:
            try:
                yield (call := actions.prepare(document, secrets, context))
                yield Answer(
                    call, 200, CIMultiDictProxy(CIMultiDict(call.headers)), (), str([*secrets.values()]).encode()
                )
            except Exception as error:  # of a document that no caller could have stored
                yield error
        secrets = actions.below("errorAction", action.secrets)


# How it listens


def watched_preparation(field: EncryptedSecretsField, value: Secrets) -> str:
    for path, text in (value or {}).items():
        if path != Following.ADDRESS:  # it may hold a secret, and is none: an answer's headers say it, too
            current.remember(path, text)
    return prepare_value(field, value)


def watched_answer(handler: BaseHandler, request) -> HttpResponseBase:
    response = answer(handler, request)
    current.look_at_answer(request, response)
    return response


def watched_record(*args, **kwargs) -> logging.LogRecord:
    record = make_record(*args, **kwargs)
    with suppress(TypeError, ValueError):  # of a message that does not go with its arguments
        line = record.getMessage()
        current.heard.append(line + logging.Formatter().formatException(record.exc_info) if record.exc_info else line)
    return record


def remember_pairs(sender, instance: Action, **_) -> None:
    for path, pair in pairs(instance.document, instance.secrets):
        current.remember(path, pair)


prepare_value = EncryptedSecretsField.get_prep_value
answer = BaseHandler.get_response
make_record = logging.getLogRecordFactory()


def pytest_configure() -> None:
    EncryptedSecretsField.get_prep_value = watched_preparation
    BaseHandler.get_response = watched_answer
    logging.setLogRecordFactory(watched_record)
    post_save.connect(remember_pairs, sender=Action)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    with watch_of_its_own() as watch:
        item.stash[WATCH] = watch
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Within the test, so that its rows are still there."""
    result = yield
    watch = item.stash[WATCH]
    watch.look_at_the_rest()
    if watch.leaks:
        pytest.fail("\n".join(watch.leaks), pytrace=False)
    return result
