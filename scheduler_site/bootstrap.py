"""Set up a new installation: its first user, the default subscription with this user as owner, and samples."""

import secrets
from datetime import datetime

from django.db import transaction

from accounts.models import DEFAULT_SUBSCRIPTION_ID, Membership, Role, Subscription, User
from scheduler_site import demo_data

PASSWORD_BYTES = 12


def bootstrap(username: str, password: str | None, echo_url: str | None, now: datetime) -> tuple[str, str | None]:
    """Create the first user, the default subscription and, with `echo_url`, the samples in an empty installation.

    Everything is created once: later changes and deletions stay.  Returns the first user's name, and the password if it
    has just been generated.
    """
    with transaction.atomic():
        first = User.objects.filter(is_superuser=True).order_by("pk").first()
        generated = None
        if first is None:
            if not password:
                password = generated = secrets.token_urlsafe(PASSWORD_BYTES)
            first = User.objects.create_superuser(username, password=password)
        subscription, is_new = Subscription.objects.get_or_create(
            id=DEFAULT_SUBSCRIPTION_ID, defaults={"name": "default"}
        )
        if is_new:
            Membership.objects.create(subscription=subscription, user=first, role=Role.OWNER)
            if echo_url:
                demo_data.load(subscription, echo_url, now)
                demo_data.load_calendar(first, now)
                demo_data.load_maintenance(subscription, first.get_username(), now)
    return first.get_username(), generated
