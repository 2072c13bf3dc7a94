"""The tables of docs/limits.md match the code: each expected limit is built from the constants of the code."""

import re
from datetime import timedelta
from pathlib import Path

from django.conf import settings

from accounts.api import TokenRequest
from accounts.invitations import MAX_OPEN_INVITATIONS
from accounts.models import MOST_TOKENS
from api import idempotency, pagination, parsers
from calendars import editing, event_times, feeds, validation
from calendars.api import calendars, events, occurrences
from calendars.graph import delta, window_views
from calendars.ics import importing, recurrence
from calendars.models import REMINDER_MOST, SUBJECT_LENGTH, YEARS
from calendars.pages import closed_days as closed_days_of_page
from calendars.pages import occurrence_cache, search
from jobs import names, quotas, run_now, signing
from jobs.actions import members, previous, requests, service_bus, storage_queue
from jobs.api import collections, upcoming
from jobs.models import Sku
from jobs.worker import overlap, polling, retries
from maintenance import lifecycle, policies
from recurrence import periodic
from recurrence.wire import azure, crontab, graph, quartz, recognition, rrule, simple, solar, zone_names
from recurrence.wire import closed_days as closed_day_documents
from scheduler_site import errors
from triggers import closed_days, misfire, scheduling
from triggers.api import preview, translate
from triggers.api.triggers import GROUP_LENGTH
from triggers.models import PRIORITY_MOST, THRESHOLD_LEAST, THRESHOLD_MOST

DOCS = Path(__file__).resolve().parent.parent / "docs"
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
FREQUENCIES = azure.Frequency
LONGEST = azure.LARGEST_INTERVAL
COLLECTION = collections.CollectionReplacement().fields
REQUEST, RETRIES = members.REQUEST, members.RETRY_POLICY
PROPERTIES = members.BUS_QUEUE_MESSAGE["customMessageProperties"]
LIMITS = {
    # requests of any kind
    "a request that writes a job or a trigger": f"{settings.JOB_BODY_LIMIT:,} bytes",
    "any other request": f"{settings.BODY_LIMIT:,} bytes",
    "nesting of objects and lists": f"{parsers.DEPTH_LIMIT} levels",
    "entries of a list, members of an object": f"{parsers.LIST_LIMIT:,}",
    "entries of one page of a list": (
        f"{pagination.PAGE_BYTES // 1_000_000} MB as JSON, or one larger entry; the rest is on the next page"
    ),
    "`limit` of a list": f"1 to {pagination.MOST:,}, {pagination.LIMIT} by default",
    "`count` of a preview": f"1 to {preview.MOST:,}, {preview.COUNT} by default",
    "`count` of upcoming runs": f"1 to {upcoming.COUNT_MOST:,}, {upcoming.COUNT} by default",
    "differences listed in the response to a translation": f"{translate.MOST}, within {translate.YEARS} years",
    "errors listed in one error response": f"{errors.MAX_DETAILS}",
    "`key` of a run or a notice, `Idempotency-Key`": f"{idempotency.KEY_LENGTH} characters",
    # jobs and triggers
    "`name` of a collection, a job, a trigger": f"{names.NAME_LENGTH} characters",
    "`resourceGroup` of a collection": f"{COLLECTION['resourceGroup'].max_length} characters",
    "`location` of a collection": f"{COLLECTION['location'].max_length} characters",
    "`tags` of a collection": (
        f"{collections.TAGS_LIMIT}, names of {collections.TAG_NAME_LENGTH}"
        f" and values of {COLLECTION['tags'].child.max_length} characters"
    ),
    "`maxRecurrence.interval` of a collection": f"1 to {quotas.RECURRENCE_INTERVAL_LIMIT:,}",
    "triggers of a job": f"{scheduling.TRIGGERS_LIMIT}",
    "calendars of closed days of a subscription": f"{closed_days.CALENDARS_LIMIT}",
    "items of `dates` and of `holidays` of a calendar of closed days": (
        f"{closed_day_documents.MAX_DATES:,} and {closed_day_documents.MAX_HOLIDAYS}"
    ),
    "`misfireThreshold`": f"{THRESHOLD_LEAST // SECOND} second to {THRESHOLD_MOST // DAY} days",
    "`priority`": f"0 to {PRIORITY_MOST:,}",
    "`group`": f"{GROUP_LENGTH} characters",
    "`triggerDataMap.custom_lock_key`": f"{scheduling.LOCK_KEY_LIMIT} characters",
    'runs that wait with `"overlap": "queue_all"`': f"{overlap.QUEUE_LIMIT}",
    "missed fire times that `fireAll` runs": f"{misfire.FIRE_ALL_LIMIT}",
    "missed fire times recorded in one row each": f"{misfire.SINGLE_LIMIT:,}",
    "`overlap` of signing secrets": f"{signing.OVERLAP_MOST // DAY} days, {signing.LIVE_MOST} secrets at a time",
    # schedules
    "`recurrence.interval` of `Minute`": f"1 to {LONGEST[FREQUENCIES.MINUTE]:,}",
    "`recurrence.interval` of `Hour`": f"1 to {LONGEST[FREQUENCIES.HOUR]:,}",
    "`recurrence.interval` of `Day`": f"1 to {LONGEST[FREQUENCIES.DAY]:,}",
    "`recurrence.interval` of `Week`": f"1 to {LONGEST[FREQUENCIES.WEEK]:,}",
    "`recurrence.interval` of `Month`": f"1 to {LONGEST[FREQUENCIES.MONTH]:,}",
    "`recurrence.count`": f"1 to {azure.LARGEST_COUNT:,}",
    "`interval` of `simple`": f"1 to {simple.LONGEST_INTERVAL:,} milliseconds",
    "`repeatCount` of `simple`": f"-1 to {simple.MOST_REPEATS:,}",
    "`expression` of `quartz` and `cron`": f"{quartz.LONGEST} characters",
    "`rrule` of `rrule`": f"{rrule.MAX_RULE_LENGTH:,} characters",
    "COUNT of `rrule`, with `exdates`, `rdates` or parts that `outlook` cannot express": (
        f"ends within {rrule.FARTHEST_COUNTED // timedelta(days=365)} years of the start"
    ),
    "INTERVAL of `rrule`, with several times a day and parts that leave out times": (
        f"repeats within {periodic.MAX_CYCLE:,} days"
    ),
    "COUNT of `rrule`, with an INTERVAL that does not divide a day and parts that leave out days": (
        f"ends within {periodic.MAX_COUNTED_DAYS} days with fire times"
    ),
    "`numberOfOccurrences` of `outlook`": f"1 to {graph.MOST_OCCURRENCES}",
    "an occurrence of `outlook` and `rrule`": f"{graph.LONGEST // DAY} days long",
    "`offset` of `solar`": f"{solar.MAX_OFFSET // timedelta(hours=1)} hours before or after",
    "name of a time zone": f"{zone_names.LONGEST} characters",
    # actions
    "`retryPolicy.retryCount`": f"0 to {RETRIES['retryCount'].high}",
    "`retryPolicy.retryInterval`, `maximumRetryInterval`": (
        f"{RETRIES['retryInterval'].least // SECOND} seconds to {RETRIES['maximumRetryInterval'].most // DAY} days"
    ),
    "`followLimit`": f"1 second to {members.FOLLOW_LIMIT.most // timedelta(hours=1)} hours",
    "`request.uri`": f"{REQUEST['uri'].limit:,} characters",
    "`request.headers`": (
        f"{requests.HEADERS_LIMIT}, {requests.HEADERS_TOTAL_LIMIT:,} characters of names and values together"
    ),
    "`request.body`": f"{REQUEST['body'].limit:,} characters",
    "`request.secretHeaders`, `secretQuery`": f"{members.MARKS_LIMIT} names",
    "`request.certificateAuthority`": f"{REQUEST['certificateAuthority'].limit:,} characters",
    "`request.success.statusCodes`": f"{members.CODES_LIMIT} codes and ranges",
    "`request.success.bodyContains`, `bodyValue`": f"{members.TEXT_LIMIT:,} characters",
    "`request.success.bodyPath`": f"{members.SUCCESS['bodyPath'].limit} characters",
    "`authentication.authority`, `audience`": f"{members.OAUTH['authority'].limit:,} characters",
    "`authentication.username`, `tenant`, `clientId`, `sasKeyName`": f"{previous.SHORT_LIMIT} characters",
    "`password`, `pfx`, `secret`, `sasKey`, `sasToken`": f"{previous.SECRET_LIMIT:,} characters",
    "`message` of a queue or a service bus": f"{previous.MESSAGE_LIMIT:,} characters",
    "a message of a storage queue as it is sent": f"{storage_queue.SIZE_LIMIT:,} bytes",
    "`brokeredMessageProperties`": f"{previous.SHORT_LIMIT} characters of each text",
    "`customMessageProperties`": (
        f"{PROPERTIES.count}, names of {previous.SHORT_LIMIT} and values of {PROPERTIES.limit:,} characters"
    ),
    "all properties of a message as headers": f"{service_bus.HEADERS_LIMIT:,} characters",
    "`task.arguments`": f"{members.ARGUMENTS_LIMIT:,} characters of JSON",
    # calendars and maintenance
    "`subject` of an event": f"{SUBJECT_LENGTH} characters",
    "`body` of an event": f"{validation.BODY_LENGTH:,} characters",
    "a category of an event": f"{validation.CATEGORY_LENGTH} characters",
    "`categories` of an event": f"{validation.CATEGORIES}",
    "`attendees` of an event": f"{validation.ATTENDEES}",
    "all locations, or all attendees, of an event": f"{validation.LIST_LENGTH:,} characters as JSON",
    "a reminder of an event": f"{REMINDER_MOST:,} minutes ahead",
    "an event": f"{event_times.LONGEST // DAY:,} days long, in the years {YEARS[0]} to {YEARS[-1]}",
    "events of a calendar; a series is one event": f"{editing.EVENTS:,}",
    "calendars of an account": f"{editing.CALENDARS}",
    "events that a calendar page shows": (
        f"{occurrence_cache.MAX_EVENTS:,}, with {occurrence_cache.MAX_OCCURRENCES:,} occurrences together"
    ),
    "calendars of closed days that a calendar page lists": f"{closed_days_of_page.MOST_CALENDARS}",
    "events that a search on the calendar page reads": (
        f"{search.MAX_SEARCHED:,}, with {search.MAX_EXCEPTIONS:,} changed occurrences together"
    ),
    "events that a search on the calendar page shows": f"{search.MOST_EVENTS}",
    "`key` of an event": f"{editing.KEY_LENGTH} characters",
    "`name` of a calendar or a feed": f"{calendars.NAME_LENGTH} characters",
    "a schedule that is pasted into the form of an event": f"{recognition.LONGEST_TEXT:,} characters",
    "`search` of events": f"{events.SEARCH_LENGTH} characters",
    "from `from` to `to` of a list of occurrences": f"{occurrences.WINDOW_MOST // DAY:,} days",
    "from `startDateTime` to `endDateTime` of a view in Graph's form": f"{window_views.LONGEST_VIEW // DAY:,} days",
    "items of a delta in Graph's form": f"{delta.MOST:,}",
    "a file that is imported": f"{importing.LARGEST:,} bytes",
    "events created from one imported file": f"{recurrence.MOST_EVENTS:,}",
    "resources of a notice": f"{lifecycle.RESOURCES_MOST:,}",
    "open notices of a subscription": f"{lifecycle.OPEN_MOST:,}",
    "resources of all open notices of a subscription together": f"{lifecycle.RESOURCES_OF_OPEN_MOST:,}",
    "`description` of a notice": f"{lifecycle.DESCRIPTION_LENGTH:,} characters",
    "`durationInSeconds` of a notice": f"{lifecycle.UNKNOWN_DURATION} to {lifecycle.LONGEST_S:,}",
    "`name`, `scopeGroup` of a resource": f"{policies.TEXT_LENGTH} characters",
    "`labels` of a resource or a job": f"{policies.LABELS_MOST}, names and values of {policies.TEXT_LENGTH} characters",
    "resources that a job names": f"{policies.RESOURCES_MOST:,}",
    "`lead` of a job, the time before a notice": f"{policies.LEAD_MOST // DAY} days",
    # accounts
    "`name` of an API token": f"{TokenRequest().fields['name'].max_length} characters",
    "API tokens of an account": f"{MOST_TOKENS}",
    "open invitations of a subscription": f"{MAX_OPEN_INVITATIONS}",
}


DEFAULTS = {
    "`retryPolicy`": (
        f"`Fixed`, {retries.DEFAULT_COUNT} more attempts, {retries.DEFAULT_INTERVAL // SECOND} seconds apart"
    ),
    "`retryPolicy.maximumRetryInterval`": f"{retries.DEFAULT_MAX_INTERVAL // DAY} day",
    "`followLimit`, left out": f"{polling.LIMIT // timedelta(hours=1)} hour",
}


UNITS = {timedelta(hours=1): "hour", timedelta(minutes=1): "minute", SECOND: "second", SECOND / 1000: "millisecond"}


def shown(span: timedelta) -> str:
    unit = next(unit for unit in UNITS if span >= unit)
    return f"{span // unit} {UNITS[unit]}{'s' if span > unit else ''}"


PLAN_LIMITS = {
    "jobs of a collection": lambda plan: f"{plan.jobs:,}",
    "collections with the plan in a subscription": lambda plan: f"{plan.collections:,}",
    "minimum time between two occurrences of an Azure recurrence": lambda plan: shown(plan.min_interval),
    "minimum time between two fire times in another format": lambda plan: shown(plan.min_fire_interval),
    "`authentication` of a `request`": lambda plan: "yes" if plan.outbound_authentication else "no",
}
PLANS = {
    "what": " | ".join(Sku.values),
    **{name: " | ".join(limit_of(quotas.PLANS[sku]) for sku in Sku) for name, limit_of in PLAN_LIMITS.items()},
}


def test_documented_limits_and_defaults_equal_those_of_the_code():
    text = (DOCS / "limits.md").read_text()
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    headings = [("what", "default"), ("what", "limit")]
    documented = [row for row in rows if row not in headings]

    assert len(dict(documented)) == len(documented) == len(rows) - len(headings)
    assert dict(documented) == DEFAULTS | PLANS | LIMITS
    assert f"at most {quotas.COLLECTIONS_PER_SUBSCRIPTION:,} collections" in text


def test_limits_documented_in_one_row_are_equal():
    assert idempotency.KEY_LENGTH == run_now.KEY_LENGTH == lifecycle.KEY_LENGTH
    assert calendars.NAME_LENGTH == feeds.NAME_LENGTH == editing.NAME_LENGTH
    assert quartz.LONGEST == crontab.LONGEST


def test_docs_use_run_and_attempt_instead_of_execution():
    """Members of other APIs keep their names, such as executions; our own texts use run and attempt."""
    found = {
        f"{page.name}: {line}"
        for page in (DOCS.parent / "README.md", *DOCS.glob("*.md"))
        for line in page.read_text().splitlines()
        if re.search(r"\bexecutions?\b", re.sub(r"`[\w/]+\.py`", "", line), re.IGNORECASE)
    }

    assert found == set()
