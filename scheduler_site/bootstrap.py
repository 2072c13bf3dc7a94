"""What a new installation begins with: a person, a subscription that is theirs, and samples."""

import secrets
from datetime import datetime

from django.db import transaction

from accounts.models import DEFAULT_SUBSCRIPTION_ID, Membership, Role, Subscription, User
from scheduler_site import samples

PASSWORD_BYTES = 12


def bootstrap(username: str, password: str | None, echo_url: str | None, now: datetime) -> tuple[str, str | None]:
    """Give an empty installation its first user, the default subscription and, with `echo_url`, the samples.

    Everything is made once: what has been changed or deleted since stays so.  Returns the first user's name, and the
    password when it has just been made up.
    """
    with transaction.atomic():
        first = User.objects.filter(is_superuser=True).order_by("pk").first()
        made_up = None
        if first is None:
            if not password:
                password = made_up = secrets.token_urlsafe(PASSWORD_BYTES)
            first = User.objects.create_superuser(username, password=password)
        subscription, is_new = Subscription.objects.get_or_create(
            id=DEFAULT_SUBSCRIPTION_ID, defaults={"name": "default"}
        )
        if is_new:
            Membership.objects.create(subscription=subscription, user=first, role=Role.OWNER)
            if echo_url:
                samples.load(subscription, echo_url, now)
                samples.load_calendar(first, now)
                samples.load_maintenance(subscription, first.get_username(), now)
    return first.get_username(), made_up
