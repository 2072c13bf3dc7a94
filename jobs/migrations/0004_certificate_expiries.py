from datetime import datetime

from django.db import migrations

BATCH = 500


def fill(apps, schema_editor):
    """Take the first expiry of each action's client certificates from its document."""
    actions = apps.get_model('jobs', 'Action').objects.using(schema_editor.connection.alias)
    last = 0
    while rows := list(actions.filter(pk__gt=last).order_by('pk').values_list('pk', 'document')[:BATCH]):
        for pk, document in rows:
            if expiry := first_expiry(document):
                actions.filter(pk=pk).update(certificate_expires_at=expiry)
        last = rows[-1][0]


def first_expiry(document):
    actions = (document, document.get('errorAction') or {})
    proofs = [(action.get('request') or {}).get('authentication') or {} for action in actions]
    expiries = [proof['certificateExpirationDate'] for proof in proofs if 'certificateExpirationDate' in proof]
    return min(map(datetime.fromisoformat, expiries), default=None)


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0003_certificate_expiry'),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
