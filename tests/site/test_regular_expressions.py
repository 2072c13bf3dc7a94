"""Every regular expression of the product takes linear time for every text.

The patterns are collected from the source.  Each has examples here, texts in which it finds what it is for; from these
the inputs are made: every part of an example is repeated, with an end that fits and with ends that do not.
A new pattern without examples fails.
"""

import ast
import importlib
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.contrib.admin.templatetags.admin_list import _boolean_icon
from django.core.exceptions import ValidationError
from django.urls import Resolver404, get_resolver, resolve
from django.utils.http import parse_header_parameters
from icalendar.parser.property import split_on_unescaped_comma

from accounts.models import User
from calendars import body_text
from calendars.ics import events, parser
from calendars.ics.parser import Property
from calendars.pages import popover
from jobs.actions import uris
from jobs.actions.http import retry_after
from scheduler_site import asgi
from tests.conftest import NOW
from tests.growth import assert_linear

ROOT = Path(__file__).parents[2]
PACKAGES = (
    *("accounts", "api", "calendars", "jobs", "maintenance", "operations", "recurrence", "scheduler_site", "triggers"),
)
METHODS: dict[str, Callable[[re.Pattern, str], object]] = {
    "match": re.Pattern.match,
    "fullmatch": re.Pattern.fullmatch,
    "search": re.Pattern.search,
    "findall": re.Pattern.findall,
    "finditer": lambda pattern, text: deque(pattern.finditer(text), maxlen=0),
    "split": re.Pattern.split,
    "sub": lambda pattern, text: pattern.sub("", text),
}
FLAGS_AT = {"compile": 1, "match": 2, "fullmatch": 2, "search": 2, "findall": 2, "finditer": 2, "split": 3, "sub": 4}
LENGTH = 8_000  # characters; see tests.growth for what that proves
UNBOUNDED = re.compile(r"[*+]|,\}")
WORD = re.compile(r"\w+|\W")
GUID = "0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"

EXAMPLES: dict[str, list[str]] = {
    "accounts.authentication: TOKEN_TEXT": ["aB3_-"],
    "api.answers: [A-Z]": ["jobNameA"],
    "api.fields: INSTANT": ["2026-01-05T10:00:00.123+01:00", "2026-01-05t10:00z"],
    "api.filters: WHOLE_NUMBER": ["12"],
    r"accounts.models: \A[a-z0-9]([a-z0-9-]*[a-z0-9])?\Z": ["a-b1"],
    "calendars.api.fields: LOCAL": ["2026-01-05T10:00:00.123"],
    "calendars.body_text: BLANKS": [" \n\t"],
    "calendars.body_text: LONG_REFERENCE": ["&#0123456789"],
    "calendars.body_text: TAG": ["<p1 a='b'>", "</p>", "<!doctype>", "<?x>"],
    "calendars.body_text: </style[^<>]*+>": ["</style >"],
    "calendars.ics.parser: LINE_END": ["a\r\nb\rc\nd"],
    "calendars.ics.parser: UNSTORABLE": ["a\x00\ud800"],
    "calendars.validation: _(.)": ["a_b"],
    "calendars.validation: CONTROL": ["a\x00\x85"],
    "calendars.graph.base: [0-9]{1,18}": ["12"],
    "calendars.graph.base: CALENDAR_ID": [GUID, GUID.replace("-", "")],
    "calendars.graph.calendar_views: ZONE_STANDARD": ["a timezonestandard=microsoft.graph.timezonestandard'iana' b"],
    "calendars.graph.delta: TOKEN": ["a" * 43 + ".12"],
    "calendars.graph.errors: CLIENT_REQUEST_ID": ["a-1"],
    "calendars.graph.filters: TOKEN": [" 'it''s'", " a/b", "("],
    "calendars.graph.preferences: 0*[1-9][0-9]*": ["0012"],
    "calendars.graph.preferences: PREFERENCE": [' a = "b" ;c="d", e=f , g', " a;b"],
    "calendars.graph.queries: [0-9]+": ["12"],
    r"calendars.graph.queries: \s*(\S+)(?:\s+(asc|desc))?\s*": [" a/b  desc "],
    "calendars.graph.reading: [A-Za-z]*": ["aB"],
    "calendars.ics.exporting: CONTROLS": ["a\x00\x0c"],
    "calendars.ics.exporting: LINE_ENDS": ["a\r\nb\rc\u2028"],
    "calendars.ids: FORM": ["OID." + "a" * 32 + "_2026-01-05"],
    r"calendars.pages.event_form: [.\[]": ["a.b[0]"],
    "calendars.pages.revisions: REVISION": ["12.3"],
    "jobs.actions.address_keys: END_IN_ADDRESS": ["&", "#"],
    "jobs.actions.address_keys: END_IN_TEXT": ["&", " "],
    "jobs.actions.address_keys: MEMBER": ["?code=a&b=c;d=#e="],
    "jobs.actions.secret_variants: BREAK": ["a \n b", "a\ufffd\ufffdb"],
    "jobs.actions.secret_variants: ESCAPE": [r"%41%c3%a9%u0041\u0041\ud83d\ude00\x41\n&#65;&#x41;&amp;"],
    "jobs.actions.headers: HEADER_NAME": ["X-a"],
    "jobs.actions.headers: RESERVED_HEADER": ["host", "x-metadata-a"],
    "jobs.actions.http: CHARSET": ["text/plain; charset = 'utf-8'", 'charset="a.b:c_d"'],
    "jobs.actions.http: [0-9]{1,9}": ["12"],
    "jobs.actions.http: HEADER_VALUE": ["a b"],
    r"jobs.actions.text: [^ -~\xa0-\ud7ff\ue000-\U0010ffff]": ["a\x00"],
    r"jobs.actions.queue_members: (?=...)[a-z0-9](-?[a-z0-9])*": ["a-b-c1"],
    "jobs.actions.members: (?s).+": ["a\nb"],
    "jobs.actions.members: NAME_OF_HOST": ["a.b-c"],
    "jobs.actions.members: [!-~]{1,256}": ["a"],
    "jobs.actions.queue_members: [A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*": ["a.b/c-d/e"],
    r"jobs.actions.members: [^\x00-\x1f\x7f:]*": ["a b"],
    "jobs.actions.queue_members: [a-z0-9]{3,24}": ["abc1"],
    "jobs.actions.oauth: [0-9]{1,18}": ["12"],
    "jobs.actions.oauth: ERROR": ["a b"],
    "jobs.actions.oauth: TOKEN": ["aB3"],
    "jobs.actions.polling: https?://": ["https://a"],
    "jobs.actions.polling: NOT_THE_POLLS": ["content-a", "range"],
    "jobs.actions.requests: BETWEEN_VALUES": ["a; b, c&d"],
    "jobs.actions.requests: INNER_VALUE": ['a= "b', "a:b=c"],
    "jobs.actions.requests: QUOTED_VALUE": ['a= "b c"'],
    "jobs.actions.host_names: UP_TO_HOST": ["https://a.b:1/c@d", "a+b.c-1://x"],
    "jobs.actions.requests: UP_TO_HOST": ["https://a.b/c?d#e"],
    "jobs.actions.secret_names: BRACKETS": ["data[token]"],
    "jobs.actions.secret_names: CAPITAL": ["userPinA"],
    "jobs.actions.secret_names: CREDENTIAL": [
        "x-token",
        "connection-string",
        "signature-v10",
        "a-pin",
        "session-id",
        "db-pw",
    ],
    "jobs.actions.secret_names: HARMLESS_KEY": ["x-sort-key-v2"],
    "jobs.actions.secret_names: KEY": ["x-key-v2"],
    "jobs.actions.service_bus: HEADER_VALUE": ["a b"],
    "jobs.actions.service_bus: NO_PROPERTY": ["accept-a", "via"],
    "jobs.actions.service_bus: PRINTABLE": ["a b"],
    "jobs.actions.storage_queue: (?:^|&)sig=([^&]*)": ["a=b&sig=c&d"],
    "jobs.actions.storage_queue: NOT_XML": ["a\x00"],
    "jobs.actions.storage_queue: SAS_TOKEN": ["?a=b&sig=%41"],
    "jobs.actions.success: [0-9]{3}-[0-9]{3}": ["200-299"],
    r"jobs.actions.templates: [^\x20-\x7e]": ["a\n"],
    "jobs.actions.templates: PLACEHOLDER": ["{{ job.name }}", '{{"{{"}}'],
    "jobs.actions.templates: ANY_PLACEHOLDER": ["a {{ b }} {c}", "{{{{ }}"],
    "jobs.actions.uris: , not |: ": ["must be a, not b: c"],
    "jobs.actions.uris: [0-9]+|0x[0-9a-f]*": ["12", "0x1f"],
    "jobs.actions.uris: BRACKETS": ["[::1]:80"],
    "jobs.actions.uris: CHARACTERS": ["http://a"],
    "jobs.actions.uris: LABEL": ["a-b_c"],
    "jobs.admin.jobs: KEY": ["12"],
    "api.conditional: PART": [' W/"a" , "b", c '],
    "api.conditional: TAG": ['W/"a"'],
    "jobs.arm.history: KEY": ["1" * 20 + ":" + "2" * 20],
    "jobs.arm.lists: [0-9]{1,10}": ["12"],
    r"jobs.arm.lists: \s*state\s+eq\s+('?)([a-z]+)\1\s*": [" state  eq  'completed' "],
    "jobs.action_text: PLAIN_LIST": ['[\n    1,\n    "a"\n  ]'],
    r"jobs.action_text: \n\s+": ["1,\n  2"],
    "jobs.durations: _CLOCK": ["1.02:03:04.5"],
    "jobs.durations: _ISO": ["P1Y2M3W4DT5H6M7.8S"],
    "jobs.durations: _MISPLACED_DAYS": ["PT12D"],
    "jobs.echo_view: [2-5][0-9]{2}": ["200"],
    "jobs.encryption: CIPHERTEXT": ["gAAAAaB3_-=="],
    "api.json_object: UNSTORABLE": ["a\x00\ud800"],
    r"jobs.names: \A[A-Za-z0-9_().-]*[A-Za-z0-9_()-]\Z": ["a.b(1)"],
    r"jobs.names: \A[A-Za-z0-9_][A-Za-z0-9_.-]*\Z": ["a.b"],
    r"jobs.names: \A[A-Za-z0-9_][A-Za-z0-9_.@-]*\Z": ["a.b@c"],
    r"jobs.names: \A[A-Za-z][A-Za-z0-9_-]*\Z": ["a-b"],
    'jobs.forms.fields: "([^"]*)': ['"a", "b"'],
    "jobs.forms.fields: -?[0-9]{1,9}": ["-12"],
    r"jobs.forms.fields: [,\s]+": ["a, b ,c"],
    "jobs.forms.fields: MARKED_NAMES": ['"secretQuery" : [ "a", "b" ]'],
    "jobs.forms.fields: HEADER_LINE": ["X-a: b\r\nc: d"],
    "jobs.forms.fields: JSON_MEMBER": ['{"a\\"" : "b\\n", "c": 1}', '"a": "b'],
    "jobs.registry: NAME": ["a.b"],
    "jobs.templatetags.records: BOOLEAN": [f"<td>{_boolean_icon(None)}</td>"],
    "jobs.templatetags.records: CELL": ['<td class="a">b</td>'],
    "operations.arm_base: GUID": [GUID],
    "operations.arm_base: REQUEST_ID": ["a-1"],
    "recurrence.wire.corrections: LOOSE_TIME": ["2026/1/5  9:00:00 Z"],
    "recurrence.wire.corrections: WORDS": ["MONDAY-FRI"],
    "recurrence.wire.ical_lines: FOLD": ["a\r\n b"],
    "recurrence.wire.ical_lines: LINE": ['DTSTART;TZID="Europe/Berlin";X-A=b:20260105T090000'],
    "recurrence.wire.ical_lines: TZID": [';TZID="Europe/Berlin"', ";tzid=Europe/Berlin;"],
    "recurrence.wire.recognition: CRON_FIELD": ["*/5,1-2", "MON-FRI"],
    "recurrence.wire.recognition: DURATION": ["P1W2DT3H4M5S"],
    "recurrence.wire.common: DURATION": ["P1DT2H30M10.5S", "PT90M"],
    "recurrence.wire.crontab: [ \t]+": ["0 *\t1"],
    "recurrence.wire.crontab: ITEM": ["*/5", "MON-FRI", "1-20/3"],
    "recurrence.wire.graph: DATE_TIME": ["2026-01-05T10:00:00.0000000+01:00"],
    "recurrence.wire.quartz: [ \t]+": ["0 *\t1"],
    "recurrence.wire.quartz: [0-9]C": ["5C"],
    "recurrence.wire.quartz: DAY_OF_MONTH_WORD": ["L-3W", "15W"],
    "recurrence.wire.quartz: DAY_OF_WEEK_WORD": ["6#3", "FRIL"],
    "recurrence.wire.quartz: ITEM": ["*/5", "MON-FRI", "1-20/3"],
    "recurrence.wire.json_values: DAY": ["2026-01-05"],
    "recurrence.wire.json_values: INSTANT": ["2026-01-05T10:00:00.123+01:00"],
    "recurrence.wire.rrule: [-:]": ["2026-01-05T10:00:00"],
    r"recurrence.wire.rrule: \d": ["1MO"],
    "recurrence.wire.rrule: NUMBER": ["-12"],
    "recurrence.wire.rrule: NUMBERED_DAY": ["-12MO"],
    "recurrence.wire.rrule: UNTIL": ["20260105T100000Z"],
    "recurrence.wire.simple: -?[0-9]{1,15}": ["-12"],
    "recurrence.wire.solar: OFFSET": ["-PT1H30M15S"],
    "triggers.pages.closed_days_form: ITEM": ["dates[12].month"],
    "triggers.pages.places: WORD": ["UnitedStates"],
    "scheduler_site.asgi: IMPORTS": ["/api/calendars/a1/import//", "/calendar/calendars/import"],
    r'scheduler_site.catalogues: "Generated-By: .*\n': ['"Generated-By: a\n'],
    "scheduler_site.catalogues: PLACEHOLDER": ["%(a)s {b}"],
    "api.parsers: LONE_SURROGATE": ["a\ud800"],
    "api.parsers: STRING_OR_BRACKET": ['{"a\\"": ["b"]}', '"a\\'],
    "scheduler_site.path_secrets: FEED_PATH": ["/calendar/feeds/aB3.ics"],
    "scheduler_site.path_secrets: MACHINE_PATH": ["//r//aB3//metadata/scheduledevents//"],
    "scheduler_site.path_secrets: MACHINE_PREFIX": ["//r/"],
    "scheduler_site.path_secrets: NESTED_ENCODING": ["%252541"],
    "scheduler_site.path_secrets: NAMES": ["/v1/mint/triggers/"],
    "scheduler_site.path_secrets: TOKEN": ["/" + "a" * 43 + "."],
    "scheduler_site.path_secrets: SECRET_PLACE": [
        "//r//a",
        "calendar//feeds//a",
        "a" * 43 + ".ics",
        "a" * 43 + "//metadata",
    ],
    "scheduler_site.preflight: [0-9]{1,5}": ["12"],
    "scheduler_site.refreshing: VOLATILE": [
        '<time title="a" data-relative="next">in 4 min',
        'name="csrfmiddlewaretoken" value="aB3"',
    ],
    "scheduler_site.settings: [0-9]{1,9}": ["12"],
    r"scheduler_site.settings: https?://[^\s?#@]+": ["https://a.b/c"],
    "triggers.collection_operations: [^a-z0-9-]": ["a B"],
    "triggers.editor.corrections: CLOCK": ["9:30 a.m."],
    "triggers.editor.corrections: SPAN": ["-1 hours 30 minutes 5 seconds"],
    "triggers.editor.corrections: YEAR_FIRST": ["2026/1/5, 9:00"],
    "triggers.editor.corrections: YEAR_LAST": ["5. 1. 2026 9:00", "5.1.2026, 9:00"],
    "triggers.editor.tabs: START": ["2026-01-05T10:00:01.305606+01:00"],
    "triggers.editor.fields: SEPARATORS": ["2026-12-24,2026-12-25;\n"],
    "triggers.editor.fields: TIME_OF_DAY": ["09:30", "23:59", "7:00"],
    r"triggers.editor.fields: [,;\s]+": ["09:00, 17:30;18:00"],
    "triggers.mint.api: [0-9]{1,9}": ["12"],
    "triggers.mint.api: GUID": [GUID],
    "triggers.mint.api: NAME": ["a.b@@@c.d@@@e.f"],
    "triggers.mint.api: SHORT_NAME": ["a-1"],
    "triggers.mint.api: TRIGGER_ID": ["a.b@@@c.d@@@e.f@@@c.d@@@e.f"],
    r"triggers.schedule_form: \[[0-9]+\]": ["a[0]b"],
}

# Patterns that are put together within a function, or handed to it
COMPOSED: dict[str, list[str | re.Pattern]] = {
    "calendars.body_text: f'</{name}[^<>]*+>'": [body_text.HIDDEN_TAGS["style"]],
    r'''jobs.arm.lists: f"\\s*{member}\\s+eq\\s+('?)([a-z]+)\\1\\s*"''': [r"\s*state\s+eq\s+('?)([a-z]+)\1\s*"],
    "api.json_object: pattern": [],  # found where it is handed over
    "operations.arm_base: str(self)": [],  # an address, see below
}


class Use(NamedTuple):
    names: set[str]
    methods: set[str]


@cache
def uses() -> dict[re.Pattern, Use]:
    """Return for each pattern where it is written or named, and which methods are called."""
    found: dict[re.Pattern, Use] = defaultdict(lambda: Use(set(), set()))
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
                for source, patterns, method in uses_in(name, ast.parse(path.read_text())):
                    for pattern in patterns:
                        found[pattern].names.add(f"{name}: {source or pattern.pattern}")
                        found[pattern].methods.update(method)
    return found


def uses_in(module: str, tree: ast.Module) -> Iterator[tuple[str, list[re.Pattern], set[str]]]:
    namespace = vars(importlib.import_module(module))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS and is_named(node.value):
            value = evaluated(node.value, namespace)
            if isinstance(value, re.Pattern):
                yield ast.unparse(node.value), [value], {node.attr}
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if isinstance(namespace.get(name), re.Pattern):
                yield name, [namespace[name]], set()
        elif isinstance(node, ast.Call) and (found := pattern_and_method(node)) is not None:
            expression, method, flags = found
            value = evaluated(expression, namespace)
            texts = COMPOSED[f"{module}: {ast.unparse(expression)}"] if value is None else [value]
            options = evaluated(flags, namespace) if flags else 0
            patterns = [text if isinstance(text, re.Pattern) else re.compile(text, options) for text in texts]
            yield ast.unparse(expression) if is_named(expression) else "", patterns, {method} - {"compile"}


def pattern_and_method(call: ast.Call) -> tuple[ast.expr, str, ast.expr | None] | None:
    """Return the pattern that a call receives, the method that uses it, and its flags."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if isinstance(function, ast.Attribute) and is_re(function.value):
        flags = next((each.value for each in call.keywords if each.arg == "flags"), None)
        at = FLAGS_AT.get(name, 0)
        return (call.args[0], name, call.args[at] if len(call.args) > at else flags) if at else None
    if name in ("text", "required_text") and len(call.args) == 4:  # of api.json_object.Members
        return call.args[2], "fullmatch", None
    if name in ("RegexValidator", "RegexField"):
        return call.args[0], "search", None
    return None


def is_named(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_named(node.value))


def is_re(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "re"


def evaluated(node: ast.expr, namespace: dict[str, Any]) -> Any:
    """Return None if the value depends on local names of a function."""
    try:
        return eval(ast.unparse(node), namespace)  # the product's own source
    except (NameError, AttributeError):
        return None


def name_of(use: Use) -> str | None:
    return next((name for name in sorted(use.names) if name in EXAMPLES), None)


def inputs(example: str) -> Iterator[Callable[[int], str]]:
    """Yield texts: the example with one or two characters, or up to six words, repeated, and a mismatch at the end."""
    words = [match.start() for match in WORD.finditer(example)] + [len(example)]
    parts = {(at, at + width) for width in (1, 2) for at in range(len(example) - width + 1)}
    parts |= {(start, end) for at, start in enumerate(words) for end in words[at + 1 : at + 7]}
    repeated = {(example[:start], example[start:end], example[end:]) for start, end in parts | {(0, len(example))}}
    for before, unit, after in repeated:
        for end in (after + "\0", "\n\0"):
            yield lambda n, before=before, unit=unit, end=end: before + unit * (n // len(unit)) + end


def test_every_pattern_has_examples():
    found = uses()

    assert [use.names for use in found.values() if name_of(use) is None] == []
    assert set(EXAMPLES) - {name for use in found.values() for name in use.names} == set()


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_pattern_takes_linear_time(name):
    ((pattern, use),) = [(pattern, use) for pattern, use in uses().items() if name in use.names]
    if not UNBOUNDED.search(pattern.pattern):
        return  # each attempt takes a bounded number of steps
    methods = use.methods or {"fullmatch", "search"}
    finds = pattern.fullmatch if methods == {"fullmatch"} else pattern.search

    for example in EXAMPLES[name]:
        assert finds(example)
        for input_of in inputs(example):
            for method in methods:
                assert_linear(lambda text, call=METHODS[method]: call(pattern, text), input_of, LENGTH)


# What libraries do with external text


def emailed(text: str) -> None:
    with suppress(ValidationError):
        User._meta.get_field("email").run_validators(text)


def named(text: str) -> None:
    with suppress(ValidationError):
        User._meta.get_field("username").run_validators(text)


def in_file(lines: str) -> None:
    parser.read(f"BEGIN:VCALENDAR\n{lines}\nEND:VCALENDAR")


def length_of(duration: str) -> None:
    with suppress(ValueError, OverflowError):
        events.durations_of(duration)


def moment_of(text: str) -> None:
    with suppress(events.ImportRefused):
        events.moment(Property("DTSTART", {}, text, text), text, events.Zones("UTC", {}, NOW), [])


def media_type(text: str) -> None:
    with suppress(LookupError, ValueError):
        parse_header_parameters(text)


LIBRARIES: dict[str, tuple[Callable[[str], object], list[str]]] = {
    "the body of an event": (body_text.text_of, ["<p>a &amp; b</p>", "&#65;&#x41;&lt"]),
    "links in notes": (popover.link_urls, ["(http://a.b/c?d=e&amp;f),", "a@b.com.", "www.a.org);", "&#41;.;)"]),
    "a line of a file": (in_file, ['X-A;B=c;D="e,f",g:h\\\\,i^n', "A ; B = c : d", "BEGIN:VEVENT\n a\nEND:VEVENT"]),
    "categories": (split_on_unescaped_comma, ["a\\\\,b,c"]),
    "a duration": (length_of, ["-P1W2DT3H4M5S"]),
    "a moment": (moment_of, ["20260105T100000Z", "2026-01-05"]),
    "an address of a target": (uris.problem_of, ["http://a.b-c:80/d?e=%41#f", "http://[::1]:80/"]),
    "a moment to try again": (
        lambda text: retry_after({"Retry-After": text, "Date": text}),
        ["Mon, 05 Jan 2026 10:00:00 +0100 (a)", '"a\\\\" <b>'],
    ),
    "a media type": (
        media_type,
        ["text/a; b=\"c\\\\d\"; e*=utf-8''f", ' ; "'],
    ),
    "an e-mail address": (emailed, ["a.b+c@d-e.org", '"a"@[127.0.0.1]']),
    "a user name": (named, ["a.b@c+d"]),
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_libraries_take_linear_time(name):
    call, examples = LIBRARIES[name]

    for example in examples:
        for input_of in inputs(example):
            assert_linear(call, input_of, 4_000)


# Addresses

KINDS = {"uuid": GUID, "int": "7", "event": "a" * 32, "item": "a" * 32}
ANY_PART = re.compile(r"<(?:(\w+):)?\w+>")
NAMED_PART = re.compile(r"\(\?P<\w+>\[\^/\]\+\)|\[\^/\]\+")


def addresses() -> Iterator[str]:
    """Yield an example address for each route, if it can be derived from the route."""

    def below(resolver, before: str) -> Iterator[str]:
        for entry in resolver.url_patterns:
            route = ANY_PART.sub(lambda match: KINDS.get(match[1], "a"), str(entry.pattern))
            route = before + NAMED_PART.sub("a", route.strip("^$"))
            yield from below(entry, route) if hasattr(entry, "url_patterns") else [route]

    return below(get_resolver(), "/")


def test_addresses_are_resolved_in_linear_time():
    def find(path: str) -> None:
        with suppress(Resolver404):
            resolve(path)

    parts = {tuple(address.split("/")[:length]) for address in addresses() for length in range(2, 9)}
    for before in sorted({"/".join(part) for part in parts}):
        for unit in ("a", "/", "/a", "1", "'", ".", "\n"):
            assert_linear(find, lambda n: before + unit * (n // len(unit)) + "\n/", asgi.PATH_LIMIT)  # noqa: B023
