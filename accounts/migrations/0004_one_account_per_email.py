"""Leave each e-mail address to one account, before a constraint demands it.

The account that keeps it is an active one before one that is switched off, and of several the oldest.  The others get an
empty address; the log names each of them.
"""

import logging

from django.db import migrations
from django.db.models import Count
from django.db.models.functions import Lower

ADDRESSES = 500  # in one step

logger = logging.getLogger(__name__)


def clear_duplicates(apps, schema_editor):
    users = apps.get_model("accounts", "User").objects.using(schema_editor.connection.alias)
    addressed = users.exclude(email="").annotate(lower_email=Lower("email"))
    shared = addressed.order_by().values("lower_email").annotate(accounts=Count("pk")).filter(accounts__gt=1)
    while addresses := list(shared.values_list("lower_email", flat=True)[:ADDRESSES]):
        kept = {}
        for user in addressed.filter(lower_email__in=addresses).order_by("-is_active", "date_joined", "pk"):
            if kept.setdefault(user.lower_email, user) is not user:
                users.filter(pk=user.pk).update(email="")
                keeper = kept[user.lower_email].username
                logger.warning("the e-mail address of user %r is removed: it stays with user %r", user.username, keeper)


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0003_invitations"),
    ]

    operations = [
        # back: what was removed is not known any more, and nothing needs it
        migrations.RunPython(clear_duplicates, migrations.RunPython.noop),
    ]
