"""Mask in the history of runs what targets have repeated of credentials that were stored in the clear until 0010.

It looks at attempts, polls and runs of those actions only.  There is no way back: what was there is not known any more.
"""

import base64
import html
import json
import re
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from django.db import migrations
from django.db.models import Max, Min

from jobs.encryption import MASK

BATCH = 500  # actions read at a time
WINDOW = 5000  # ids of attempts looked at in one statement
LEAST = 4  # characters; a shorter text stands everywhere by chance
PATH = re.compile(r'(?:^|\.)request\.(query|headers)\.(.+)$')
# Headers with such names were encrypted and masked before
KNOWN = re.compile(
    r'cookie|.*auth(?!ors?$).*|.*(token|secret|password|api-?key|credential).*'
    r'|.*(access|account|functions?|master|private|sas|shared|subscription)[-_]?key'
)
ATTEMPT_FIELDS = ('message', 'response_headers', 'response_body')


def mask(apps, schema_editor):
    alias = schema_editor.connection.alias
    models = [apps.get_model('jobs', name).objects.using(alias) for name in ('Action', 'Attempt', 'Poll', 'Run')]
    actions, attempts, polls, runs = models
    needles = dict(found_in(actions))
    if not needles:
        return
    for window in windows(attempts):
        of_actions = window.filter(run__action__in=list(needles))
        rows = list(of_actions.values_list('pk', 'run', 'run__action', 'run__reason', *ATTEMPT_FIELDS))
        for pk, run, action, reason, *texts in rows:
            update(attempts.filter(pk=pk), dict(zip(ATTEMPT_FIELDS, texts)), needles[action])
            update(runs.filter(pk=run), {'reason': reason}, needles[action])
        of_attempt = {pk: action for pk, _, action, *_ in rows}
        for pk, attempt, message, body in polls.filter(attempt__in=list(of_attempt)).values_list(
            'pk', 'attempt', 'message', 'body'
        ):
            update(polls.filter(pk=pk), {'message': message, 'body': body}, needles[of_attempt[attempt]])


def found_in(actions):
    """The ids of actions with what their targets may have repeated, longest first."""
    last = 0
    stored = actions.exclude(secrets='')
    # only rows whose paths say so are opened: a row that no key opens must not stop the others
    while rows := list(stored.filter(pk__gt=last).order_by('pk').values_list('pk', 'secrets_set_at')[:BATCH]):
        for pk, set_at in rows:
            if any(is_new(path) for path in set_at):
                secrets = actions.get(pk=pk).secrets
                texts = {form for path, text in secrets.items() if is_new(path) for form in forms(text)}
                if texts:
                    yield pk, sorted(texts, key=len, reverse=True)
        last = rows[-1][0]


def is_new(path):
    found = PATH.search(path)
    return bool(found) and (found[1] == 'query' or not KNOWN.fullmatch(found[2]))


def forms(text):
    for plain in {text, unquote(text), unquote_plus(text)}:
        if len(plain) >= LEAST:
            yield from (plain, base64.b64encode(plain.encode()).decode(), html.escape(plain))
            yield from (quote(plain, safe=''), quote(plain), quote_plus(plain), json.dumps(plain)[1:-1])


def windows(attempts):
    """All attempts, so many ids at a time; those that come meanwhile are masked already."""
    ends = attempts.aggregate(first=Min('pk'), last=Max('pk'))
    if ends['first'] is not None:
        for start in range(ends['first'], ends['last'] + 1, WINDOW):
            yield attempts.filter(pk__gte=start, pk__lt=start + WINDOW)


def update(row, values, needles):
    masked = {name: masked_value(value, needles) for name, value in values.items()}
    if masked != values:
        row.update(**masked)


def masked_value(value, needles):
    if isinstance(value, list):
        return [masked_value(each, needles) for each in value]
    for needle in needles if isinstance(value, str) else ():
        value = value.replace(needle, MASK)
    return value


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('jobs', '0010_encrypt_keys_in_addresses'),
    ]

    operations = [
        migrations.RunPython(mask, migrations.RunPython.noop),
    ]
