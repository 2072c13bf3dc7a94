"""Who may see and do what: people, subscriptions (the tenants), memberships and API tokens."""

import hashlib
import hmac
import secrets
import uuid
from datetime import datetime
from typing import Self
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

DEFAULT_SUBSCRIPTION_ID = uuid.UUID("00000000-0000-0000-0000-000000000001")
TOKEN_BYTES = 32  # 256 random bits
PREFIX_LENGTH = 8  # characters of the token that find its row; the other bits stay secret


def validate_time_zone(name: str) -> None:
    if name not in available_timezones():
        raise ValidationError(f"{name!r} is not a time zone; take an IANA name such as Europe/Berlin")


class WeekStart(models.IntegerChoices):
    """The first day of a week, as `date.weekday` numbers it."""

    MONDAY = 0, "Monday"
    SATURDAY = 5, "Saturday"
    SUNDAY = 6, "Sunday"


class HourCycle(models.IntegerChoices):
    H24 = 24, "18:00"
    H12 = 12, "6:00 pm"


class User(AbstractUser):
    """A person or a program that signs in."""

    time_zone = models.CharField(
        max_length=64, default="UTC", validators=[validate_time_zone], help_text="Pages show times in this zone."
    )
    week_start = models.PositiveSmallIntegerField("weeks begin on", choices=WeekStart, default=WeekStart.MONDAY)
    hour_cycle = models.PositiveSmallIntegerField("times are written as", choices=HourCycle, default=HourCycle.H24)
    language = models.CharField(max_length=8, blank=True, choices=settings.LANGUAGES)  # empty: as the browser asks


class Role(models.IntegerChoices):
    """What a member may do in a subscription; a higher role includes the lower ones."""

    READER = 1, "reader"  # sees everything but secrets, changes nothing
    OPERATOR = 2, "operator"  # also creates, changes, runs and deletes jobs and collections
    OWNER = 3, "owner"  # also manages the members and their tokens


class SubscriptionQuerySet(models.QuerySet):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        """The subscriptions in which `user` has at least `role`: where every query of an API starts."""
        return self.filter(membership__user=user, membership__role__gte=role)


class Subscription(models.Model):
    """The tenant: everything else belongs to one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    name = models.CharField(
        max_length=63,
        unique=True,
        validators=[
            RegexValidator(r"\A[a-z0-9]([a-z0-9-]*[a-z0-9])?\Z", "take lower case letters, digits and hyphens")
        ],
        help_text="The short name, used where a GUID would be unwieldy.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership")

    objects = SubscriptionQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    role = models.PositiveSmallIntegerField(choices=Role, default=Role.READER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subscription", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} as {self.get_role_display()} of {self.subscription}"


class ApiTokenManager(models.Manager["ApiToken"]):
    def issue(
        self, user, name: str, expires_at: datetime | None = None, role: Role = Role.OWNER
    ) -> tuple["ApiToken", str]:
        """Make a token; the second value is its text, which nobody can read again."""
        text = secrets.token_urlsafe(TOKEN_BYTES)
        prefix = text[:PREFIX_LENGTH]
        token = self.create(
            user=user, name=name, prefix=prefix, digest=digest_of(text), expires_at=expires_at, role=role
        )
        return token, text

    def matching(self, text: str, now: datetime) -> "ApiToken | None":
        """Return the unexpired token that `text` spells, with its active user; None when there is none."""
        unexpired = Q(expires_at=None) | Q(expires_at__gt=now)
        candidates = self.select_related("user").filter(unexpired, prefix=text[:PREFIX_LENGTH], user__is_active=True)
        digest = digest_of(text)
        return next((token for token in candidates if hmac.compare_digest(token.digest, digest)), None)


class ApiToken(models.Model):
    """A program's key to the APIs.  Only a SHA-256 digest is kept; deleting the row revokes it at once."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    name = models.CharField(max_length=100, help_text="What uses it.")
    prefix = models.CharField(max_length=PREFIX_LENGTH, db_index=True, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    role = models.PositiveSmallIntegerField(
        choices=Role, default=Role.OWNER, help_text="The most it may do; its user's own role limits it further."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ApiTokenManager()

    class Meta:
        verbose_name = "API token"

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
