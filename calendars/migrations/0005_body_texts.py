"""Compute the text of HTML bodies that were written before the text was stored.

An occurrence with a type or a content of its own gets both, and the text: a body, its type and its text now change
together.  The conversion is a copy of `calendars.body_text.text_of` as it was then.
"""

import re
from html import unescape

from django.db import migrations
from django.db.models import Q

BATCH = 100  # rows, each with up to 262,144 characters
TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)[^<>]*+>|<[!?/][^<>]*+>")
UNSEEN = {name: re.compile(f"</{name}[^<>]*+>", re.IGNORECASE) for name in ("head", "style", "script", "title")}
BLOCKS = ("p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6")
BLANKS = re.compile(r"\s+")
LONG_REFERENCE = re.compile(r"&#([0-9]{8,}+)")


def fill(apps, schema_editor):
    alias = schema_editor.connection.alias
    events = apps.get_model("calendars", "Event").objects.using(alias)
    for rows in batches(events.filter(body_type="html").only("body")):
        for row in rows:
            row.body_text = text_of(row.body)
        events.bulk_update(rows, ["body_text"])
    exceptions = apps.get_model("calendars", "EventException").objects.using(alias)
    with_body = exceptions.filter(Q(changes__has_key="body") | Q(changes__has_key="body_type"))
    for rows in batches(with_body.select_related("event")):
        for row in rows:
            body_type, body = (row.changes.get(name, getattr(row.event, name)) for name in ("body_type", "body"))
            text = text_of(body) if body_type == "html" else ""
            row.changes |= {"body_type": body_type, "body": body, "body_text": text}
        exceptions.bulk_update(rows, ["changes"])


def remove(apps, schema_editor):
    """Remove the text from what occurrences change; the text of events goes with its column."""
    exceptions = apps.get_model("calendars", "EventException").objects.using(schema_editor.connection.alias)
    for rows in batches(exceptions.filter(changes__has_key="body_text")):
        for row in rows:
            del row.changes["body_text"]
        exceptions.bulk_update(rows, ["changes"])


def batches(rows):
    found = list(rows.order_by("pk")[:BATCH])
    while found:
        yield found
        found = list(rows.filter(pk__gt=found[-1].pk).order_by("pk")[:BATCH])


def text_of(html):
    lines = "".join(seen_in(html)).split("\n")
    return "\n".join(line.strip() for line in lines).strip()


def seen_in(html):
    position = 0
    while (opened := html.find("<", position)) >= 0:
        if opened > position:
            yield decode_run(html[position:opened])
        if html.startswith("<!--", opened):
            closed = html.find("-->", opened)
            position = closed + 3 if closed >= 0 else len(html)
            continue
        tag = TAG.match(html, opened)
        if tag is None:
            yield "<"
            position = opened + 1
            continue
        position = tag.end()
        name = (tag[2] or "").lower()
        if name == "br" or (name in BLOCKS and tag[1]):
            yield "\n"
        elif name in UNSEEN and not tag[1]:
            end = UNSEEN[name].search(html, position)
            position = end.end() if end else len(html)
    yield decode_run(html[position:])


def decode_run(run):
    return unescape(LONG_REFERENCE.sub(shorten_reference, BLANKS.sub(" ", run)))


def shorten_reference(reference):
    return "&#" + (reference[1].lstrip("0")[:8] or "0")


class Migration(migrations.Migration):
    dependencies = [
        ("calendars", "0004_body_text"),
    ]

    operations = [migrations.RunPython(fill, remove)]
