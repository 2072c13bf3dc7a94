"""Move credentials out of the documents of actions: keys in addresses, and headers that count as secret since now.

The patterns are those of the day on which this was written.  Only rows that change are written, each in a statement of
its own, so that an interrupted migration goes on where it was.  The way back puts the keys into the addresses again,
since older versions would call the address with its masks; headers stay masked, which older versions understand.
"""

import re
from collections import Counter
from urllib.parse import unquote_plus

from django.db import migrations

from jobs.encryption import MASK, Secrets, UnreadableSecret

BATCH = 500
QUERY = 'query.'
MEMBER = re.compile('[?&;#]([^=?&;#]*)=')
END = re.compile('[&#]')
PLACEHOLDER = re.compile(r'\{\{ *(?:fire_time|attempt|run_id|job\.name|collection\.name|"\{\{") *\}\}')
CREDENTIAL = re.compile(
    r'token|secret|passw(?:or)?d|pass[-_.]?phrase|credential|bearer|jwt|cookie|hmac|assertion|api[-_.]?key|[cx]srf'
    r'|connection[-_.]?string|auth(?!or(?!i[sz]))'
    r'|(?:access|activation|[mt]fa|otp|security|verification|pass|invite)[-_.]?code$|signature(?:[-_.]?(?:v|sha)?[0-9]+)?$'
    r'|session(?:[-_.]?id)?$|sessid$|pwd$|(?:api|db|ftp|login|root|smtp|user)[-_.]?(?:pass|pw)$'
    r'|(?:^|[-_.])(?:pass|pswd|pw|pin|t?otp|mfa|sid|sign?|sas|psk|pat|creds?|tkn)$'
    r'|^code$',
    re.IGNORECASE,
)
KEY = re.compile('key(?:[-_.]?v?[0-9]{1,3})?$', re.IGNORECASE)
HARMLESS_KEY = re.compile(
    '(?:cache|dedup|deduplication|foreign|group|idempotency|order|partition|primary|public|routing|row|sort|surrogate)'
    '[-_.]?key(?:[-_.]?v?[0-9]{1,3})?$',
    re.IGNORECASE,
)


def encrypt(apps, schema_editor):
    actions = actions_of(apps, schema_editor)
    for pk, document in rows(actions.values_list('pk', 'document')):
        found = {}
        changed = without_keys(document, '', found)
        if not found:
            continue
        action = opened(actions, pk)
        set_at = f'{action.created_at:%Y-%m-%dT%H:%M:%SZ}'
        actions.filter(pk=pk).update(
            document=changed,
            secrets=Secrets({**action.secrets, **found}),
            secrets_set_at={**dict.fromkeys(found, set_at), **action.secrets_set_at},
        )


def decrypt(apps, schema_editor):
    actions = actions_of(apps, schema_editor)
    for pk, document in rows(actions.exclude(secrets='').values_list('pk', 'document')):
        if MASK not in str([request.get('uri') for _, request in requests_of(document, '')]):
            continue
        action = opened(actions, pk)
        keys = {path: text for path, text in action.secrets.items() if re.search(r'(^|\.)request\.query\.', path)}
        if keys:
            actions.filter(pk=pk).update(
                document=with_keys(document, '', keys),
                secrets=Secrets({path: text for path, text in action.secrets.items() if path not in keys}),
                secrets_set_at={path: at for path, at in action.secrets_set_at.items() if path not in keys},
            )


def actions_of(apps, schema_editor):
    return apps.get_model('jobs', 'Action').objects.using(schema_editor.connection.alias)


def rows(pairs):
    last = 0
    while found := list(pairs.filter(pk__gt=last).order_by('pk')[:BATCH]):
        yield from found
        last = found[-1][0]


def opened(actions, pk):
    try:
        return actions.get(pk=pk)
    except UnreadableSecret:
        raise UnreadableSecret(
            f'no key in ENCRYPTION_KEYS opens the secrets of action {pk}, to which the keys in its address are to be'
            ' added: put the key back behind the others and migrate again'
        ) from None


def requests_of(document, place):
    if isinstance(document.get('request'), dict):
        yield f'{place}request.', document['request']
    if isinstance(document.get('errorAction'), dict):
        yield from requests_of(document['errorAction'], f'{place}errorAction.')


def without_keys(document, place, found):
    """The document with masks; what stood there goes to `found`, by its path."""
    changed = dict(document)
    if isinstance(document.get('request'), dict):
        request = changed['request'] = dict(document['request'])
        own = f'{place}request.'
        if isinstance(request.get('uri'), str):
            request['uri'] = replaced(request['uri'], is_secret_member, lambda path, key: keep(found, own + path, key))
        for name, text in (request.get('headers') or {}).items():
            # with placeholders: it was filled in until now, which no secret is
            is_filled = document.get('template') and PLACEHOLDER.search(text)
            if text not in ('', MASK) and is_credential(name) and not is_filled:
                request['headers'] = {**request['headers'], name: keep(found, f'{own}headers.{name.lower()}', text)}
    if isinstance(document.get('errorAction'), dict):
        changed['errorAction'] = without_keys(document['errorAction'], f'{place}errorAction.', found)
    return changed


def with_keys(document, place, keys):
    changed = dict(document)
    if isinstance(document.get('request'), dict):
        own = f'{place}request.'
        names = {path.removeprefix(own + QUERY).partition('#')[0] for path in keys if path.startswith(own + QUERY)}
        uri = replaced(
            document['request'].get('uri', ''),
            lambda name: name.lower() in names,
            lambda path, value: keys.get(own + path, value) if value == MASK else value,
        )
        changed['request'] = {**document['request'], 'uri': uri}
    if isinstance(document.get('errorAction'), dict):
        changed['errorAction'] = with_keys(document['errorAction'], f'{place}errorAction.', keys)
    return changed


def keep(found, path, text):
    if text != MASK:
        found[path] = text
    return MASK


def replaced(text, is_secret, replace):
    parts, done, position = [], 0, 0
    counts = Counter()
    while found := MEMBER.search(text, position):
        position = found.end()
        if not is_secret(found[1]):
            continue
        name = found[1].lower()
        counts[name] += 1
        stop = END.search(text, position)
        value = text[position:stop.start() if stop else len(text)]
        if PLACEHOLDER.sub('', value):
            path = f'{QUERY}{name}' if counts[name] == 1 else f'{QUERY}{name}#{counts[name]}'
            parts += [text[done:position], replace(path, value)]
            done = position + len(value)
        position += len(value)
    return ''.join([*parts, text[done:]])


def is_secret_member(name):
    return is_credential(re.sub(r'[\[\]]+', '.', unquote_plus(name)).strip('.'))


def is_credential(name):
    is_key = KEY.search(name) and not HARMLESS_KEY.search(name)
    return bool(is_key or CREDENTIAL.search(name) or CREDENTIAL.search(re.sub('(?<=[a-z0-9])(?=[A-Z])', '-', name)))


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('jobs', '0009_collection_revision'),
    ]

    operations = [
        migrations.RunPython(encrypt, decrypt),
    ]
