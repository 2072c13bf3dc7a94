"""Check that no secret that a test stores leaks: in an answer, a log, another column or the repr of an object.

This pytest plugin is active in every test.  It stores each text that goes through EncryptedSecretsField, in all forms
in which the text can be sent.  From then on it searches every answer and log record for these forms.  At the end of a
test that stored secrets, it also searches the whole database, and the str and repr of stored objects.

An action with a credential in its address or headers, instead of in its secrets, is a leak as soon as it is saved.  The
names of such headers and members are repeated here on purpose, independent of the product's own list.
"""

import base64
import html
import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, quote, quote_plus, unquote, unquote_plus, urlsplit

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.sessions.models import Session
from django.core.handlers.base import BaseHandler
from django.db import DatabaseError, connection
from django.db.models import Model
from django.db.models.signals import post_save
from django.http import HttpResponseBase
from multidict import CIMultiDict, CIMultiDictProxy

from jobs import actions
from jobs.actions.documents import ParsedAction
from jobs.actions.http import Call, Response
from jobs.actions.result import Context
from jobs.actions.secret_variants import FOLDING
from jobs.encryption import EncryptedSecretsField, Secrets, UnreadableSecret
from jobs.models import SECRET_PATH, Action, AsyncOperation, Attempt, Run, SigningSecret
from jobs.worker.leasing import Leased
from tests.conftest import NOW
from triggers.definitions import JobDefinition

SHORTEST = 8  # characters of a secret: a shorter text could be found by chance
MASKS = ("", "********")
SECRET_HEADERS = {
    *("authorization", "cookie", "x-api-key", "api_key", "apikey", "dd-application-key", "dd-api-key", "x-passwd"),
    *("x-signing-key", "jwt", "bearer", "x-license-key", "x-auth", "x-functions-key", "x-shopify-access-token"),
    *("private-token", "x-vault-token", "x-session", "x-amz-security-token", "x-signature", "x-key", "sid"),
}
SECRET_MEMBERS = {
    *("code", "sig", "signature", "access_token", "token", "key", "api_key", "apikey", "subscription-key"),
    *("client_secret", "password", "x-amz-signature", "x-amz-security-token", "session", "sid", "jwt"),
}
SHOWN_ONCE = re.compile(r"/api/jobs/\d+/signing-secret")  # the answer has a new signing secret in the member `secret`
SHOWN_ONCE_PAGE = re.compile(r"/admin/jobs/job/\d+/signing/")  # the page shows it in a separate element


class Watch:
    """The secrets that one test has stored, and the places where they were found."""

    def __init__(self) -> None:
        self.needles: dict[str, str] = {}  # by form of a secret: the path of the secret
        self.log_lines: list[str] = []
        self.leaks: list[str] = []

    def remember(self, path: str, text: object) -> None:
        if not text:
            return
        if not is_long(str(text)):
            self.leaks.append(f"{path} is too short to be searched for: take {SHORTEST} characters or more")
        for form in forms(path, str(text)):
            if is_long(form):
                self.needles.setdefault(form, path)

    def search(self, where: str, text: str) -> None:
        for needle, path in self.needles.items():
            if needle in text and (leak := f"{where} shows {path}") not in self.leaks:
                self.leaks.append(leak)

    def search_answer(self, request, response: HttpResponseBase) -> None:
        if not self.needles:
            return
        where = f"the answer to {request.method} {request.path}"
        self.search(where, "\n".join(texts_of_answer(request, response)))

    def search_after_test(self) -> None:
        """Search what a test has left: its log, the database and the stored objects."""
        for line in self.log_lines:
            self.search(f"the log ({line[:60]!r})", line)
        if not self.needles or connection.needs_rollback:
            return
        for where, text in (*dump(), *descriptions_of_objects()):
            self.search(where, text)
        self.search_calls()

    def search_calls(self) -> None:
        """Search the repr of calls, also for values that are made from secrets and not stored, such as a signature."""
        with suppress(UnreadableSecret):
            for call in (each for action in Action.objects.all()[:100] for each in objects_for_call(action)):
                if isinstance(call, Call):
                    watch = Watch()
                    watch.needles = dict.fromkeys(filter(is_long, call.hidden), "what it hides")
                    watch.search(f"a call of {call.url.host}", f"{call!r} {call.as_redacted_dict()}".translate(FOLDING))
                    self.leaks += watch.leaks


def unmasked_places(document: Mapping, place: str = "") -> Iterator[str]:
    """Yield the places at which an action has a credential instead of a mask.

    A text of placeholders only is not a credential.
    """
    request = document.get("request")
    if isinstance(request, Mapping):
        headers = request.get("headers") or {}
        secret_names = SECRET_HEADERS | {name.lower() for name in request.get("secretHeaders", ())}
        yield from (
            f"{place}request.headers.{name}"
            for name, text in headers.items()
            if name.lower() in secret_names and is_value(text)
        )
        secret_names = SECRET_MEMBERS | {name.lower() for name in request.get("secretQuery", ())}
        for name, values in parse_qs(urlsplit(request.get("uri", "")).query).items():
            if name.lower() in secret_names and any(map(is_value, values)):
                yield f"{place}request.uri: {name}"
    if isinstance(document.get("errorAction"), Mapping):
        yield from unmasked_places(document["errorAction"], "errorAction.")


def is_value(text: str) -> bool:
    return re.sub(r"{{ [a-z_.]+ }}", "", text) not in MASKS


def is_long(text: str) -> bool:
    return len(text) >= SHORTEST


current = Watch()
WATCH = pytest.StashKey[Watch]()


@contextmanager
def separate_watch() -> Iterator[Watch]:
    """Use another watch in the meantime, for each test and for tests of the watch itself."""
    global current
    before, current = current, Watch()
    try:
        yield current
    finally:
        current = before


# The forms in which a secret is sent


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
        yield base64.b64encode(part.encode()).decode()
        yield part.encode().hex()
        yield json.dumps(part)[1:-1].replace("/", r"\/")


def parts(path: str, text: str) -> Iterator[str]:
    if ".headers." in f".{path}":
        yield text.partition(" ")[2]  # after the scheme of an Authorization header
    if path.endswith("sasToken"):
        yield from parse_qs(text.lstrip("?")).get("sig", ())
    if ".query." in f".{path}":
        yield from (unquote(text), unquote_plus(text))
    if path == SECRET_PATH:
        yield text.removeprefix("whsec_")


def pairs(document: Mapping, secrets: Mapping[str, str], place: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path of each Basic password in `document`, with the text that Basic authentication sends for it."""
    for name, member in document.items():
        if isinstance(member, Mapping):
            yield from pairs(member, secrets, f"{place}{name}.")
    if document.get("type") == "Basic":
        pair = f"{document['username']}:{secrets.get(f'{place}password', '')}"
        yield f"{place}password", base64.b64encode(pair.encode()).decode()


# What is searched


def texts_of_answer(request, response: HttpResponseBase) -> Iterator[str]:
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
    """Yield all rows of the database with the names of their tables, and the decoded content of sessions."""
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


@contextmanager
def suppress_missing_columns(model: type[Model]) -> Iterator[None]:
    """Suppress the error for a table without all columns of its model."""
    try:
        yield
    except DatabaseError:
        with connection.cursor() as cursor:
            columns = connection.introspection.get_table_description(cursor, model._meta.db_table)
        if {field.column for field in model._meta.concrete_fields} <= {column.name for column in columns}:
            raise


def descriptions_of_objects() -> Iterator[tuple[str, str]]:
    """Yield str and repr of the rows of all models, and of the objects that are made from them for a call.

    A test of migrations may end before the newest migration, so that tables or columns are missing.
    """
    tables = connection.introspection.table_names()
    for model in apps.get_models():
        if model._meta.app_label in settings.OWN_APPS and model._meta.db_table in tables:
            with suppress(UnreadableSecret), suppress_missing_columns(model):
                for row in model._base_manager.all()[:100]:
                    yield f"a {model.__name__}", f"{row} {row!r} {vars(row)}"
    with suppress(UnreadableSecret):
        for action in Action.objects.all()[:100]:
            for described in objects_for_call(action):
                yield f"a {type(described).__name__}", f"{described} {described!r}"


def objects_for_call(action: Action) -> Iterator[object]:
    signing = tuple(each.secrets[SECRET_PATH] for each in SigningSecret.objects.all())
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
                yield Response(
                    call, 200, CIMultiDictProxy(CIMultiDict(call.headers)), (), str([*secrets.values()]).encode()
                )
            except Exception as error:  # for a document that no caller can store
                yield error
        secrets = actions.secrets_below("errorAction", action.secrets)


# The hooks


def watched_preparation(field: EncryptedSecretsField, value: Secrets) -> str:
    for path, text in (value or {}).items():
        if (
            path != AsyncOperation.ADDRESS
        ):  # it may contain a secret, but is not one: the headers of a response contain it as well
            current.remember(path, text)
    return prepare_value(field, value)


def watched_answer(handler: BaseHandler, request) -> HttpResponseBase:
    response = answer(handler, request)
    current.search_answer(request, response)
    return response


def watched_record(*args, **kwargs) -> logging.LogRecord:
    record = make_record(*args, **kwargs)
    with suppress(TypeError, ValueError):  # a message that does not fit its arguments
        line = record.getMessage()
        current.log_lines.append(
            line + logging.Formatter().formatException(record.exc_info) if record.exc_info else line
        )
    return record


def remember_pairs(sender, instance: Action, **_) -> None:
    current.leaks += [f"an action holds {place}" for place in unmasked_places(instance.document)]
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
    with separate_watch() as watch:
        item.stash[WATCH] = watch
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Search at the end of the test itself, while its rows are still there."""
    result = yield
    watch = item.stash[WATCH]
    watch.search_after_test()
    if watch.leaks:
        pytest.fail("\n".join(watch.leaks), pytrace=False)
    return result
