"""People, subscriptions (the tenants), memberships with their roles, invitations and API tokens."""

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
from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q, Value
from django.db.models.functions import Lower, Now
from django.utils.functional import cached_property

from accounts.errors import TooManyTokens

DEFAULT_SUBSCRIPTION_ID = uuid.UUID("00000000-0000-0000-0000-000000000001")
TOKEN_BYTES = 32  # 256 random bits
PREFIX_LENGTH = 8  # characters of a token with which its row is found; the others stay secret
MOST_TOKENS = 100  # API tokens that one account may have


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
    # the subscription for requests that name none; None: the only one that the user may write to
    default_subscription = models.ForeignKey(
        "Subscription", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta(AbstractUser.Meta):
        constraints = [
            # serves users_with_email
            models.UniqueConstraint(Lower("email"), condition=~Q(email=""), name="user_email_once")
        ]

    @cached_property
    def roles(self) -> "dict[uuid.UUID, Role]":
        """The roles of the user by subscription.  Read once per request, because the object lives for one request."""
        memberships = Membership.objects.filter(user=self).values_list("subscription_id", "role")
        return {subscription: Role(role) for subscription, role in memberships}

    @property
    def sees_installation(self) -> bool:
        """Return True if the user may see what concerns the whole installation: staff and superusers."""
        return self.is_active and (self.is_staff or self.is_superuser)

    @property
    def can_open_administration(self) -> bool:
        """Return True if the user may open the pages of jobs, runs, triggers and collections.

        Members of a subscription and staff may.  Each page shows what the roles of the user allow.  What concerns the
        whole installation is for staff.
        """
        return self.sees_installation or (self.is_active and bool(self.roles))

    def has_perm(self, perm, obj=None) -> bool:
        """Grant Django's own permissions to staff only, because they concern the whole installation."""
        return self.sees_installation and super().has_perm(perm, obj)

    def has_module_perms(self, app_label) -> bool:
        return self.sees_installation and super().has_module_perms(app_label)


def users_with_email(address: str) -> models.QuerySet[User]:
    """Return the account with this e-mail address, upper and lower case alike.  At most one account has it."""
    lowered = User.objects.alias(lower_email=Lower("email"))
    return lowered.filter(~Q(email=""), lower_email=Lower(Value(address)))


class Role(models.IntegerChoices):
    """What a member may do in a subscription; a higher role includes the lower ones."""

    READER = 1, "reader"  # sees everything but secrets, changes nothing
    OPERATOR = 2, "operator"  # also creates, changes, runs and deletes jobs and collections
    OWNER = 3, "owner"  # also manages the members and their tokens


class SubscriptionQuerySet(models.QuerySet["Subscription"]):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        """Return the subscriptions in which `user` has at least `role`.  Every query of an API starts here."""
        return self.filter(membership__user=user, membership__role__gte=role)

    def default_of(self, user) -> "Subscription | None":
        """Return the default subscription of `user` if it is among these rows; None if it is not.

        For a user without a default subscription, return the only row; None if there is not exactly one.
        """
        default = user.default_subscription_id
        found = list((self.filter(pk=default) if default else self)[:2])
        return found[0] if len(found) == 1 else None


class Subscription(models.Model):
    """A tenant: it owns collections, resources and calendars."""

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


class InvitationQuerySet(models.QuerySet):
    def open(self, now: datetime) -> Self:
        """Return invitations that have not expired, by people who may still invite: active owners and superusers."""
        owns = Q(membership__subscription=OuterRef("subscription"), membership__role=Role.OWNER)
        may_invite = User.objects.filter(owns | Q(is_superuser=True), pk=OuterRef("invited_by"), is_active=True)
        return self.filter(Exists(may_invite), expires_at__gt=now)


class Invitation(models.Model):
    """An offer to become a member of a subscription.  It changes nothing until the invited person accepts it.

    `addressee` is the text that the owner wrote.  `user` is the person whom this text named at that time, and None when
    it named nobody or the person declined: an owner cannot tell these cases apart.
    """

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE)
    addressee = models.CharField(max_length=254)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True)
    role = models.PositiveSmallIntegerField(choices=Role)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subscription", "addressee"], name="invitation_once")]

    def __str__(self) -> str:
        return f"{self.addressee} as {self.get_role_display()} of {self.subscription}"


class ApiTokenManager(models.Manager["ApiToken"]):
    def issue(
        self, user, name: str, expires_at: datetime | None = None, role: Role = Role.OWNER
    ) -> tuple["ApiToken", str]:
        """Create a token; the second value is its text, which nobody can read again.

        If the account has MOST_TOKENS tokens, expired ones are deleted first.  Raises TooManyTokens if too few have
        expired.
        """
        text = secrets.token_urlsafe(TOKEN_BYTES)
        prefix = text[:PREFIX_LENGTH]
        with transaction.atomic():
            # so that no two requests count at once
            User.objects.select_for_update(no_key=True).values_list("pk").get(pk=user.pk)
            self._delete_surplus(user)
            token = self.create(
                user=user, name=name, prefix=prefix, digest=digest_of(text), expires_at=expires_at, role=role
            )
        return token, text

    def _delete_surplus(self, user) -> None:
        """Delete expired tokens, earliest first, until the account may have one more.  Raises TooManyTokens."""
        surplus = self.filter(user=user).count() - MOST_TOKENS + 1
        if surplus <= 0:
            return
        expired = self.filter(user=user, expires_at__lte=Now()).order_by("expires_at")
        removed, _by_model = self.filter(pk__in=list(expired.values_list("pk", flat=True)[:surplus])).delete()
        if removed < surplus:
            raise TooManyTokens(f"an account has at most {MOST_TOKENS} tokens; revoke one first")

    def matching(self, text: str, now: datetime) -> "ApiToken | None":
        """Return the unexpired token of an active user whose text is `text`, or None."""
        unexpired = Q(expires_at=None) | Q(expires_at__gt=now)
        candidates = self.select_related("user").filter(unexpired, prefix=text[:PREFIX_LENGTH], user__is_active=True)
        digest = digest_of(text)
        return next((token for token in candidates if hmac.compare_digest(token.digest, digest)), None)


class ApiToken(models.Model):
    """A secret text with which a program signs in.  Only its SHA-256 digest is stored; deleting the row revokes it."""

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


class SignInCounter(models.Model):
    """The number of failed or successful sign-ins in one window of time, see `accounts.sign_in_limits`."""

    key = models.UUIDField(primary_key=True)  # a digest of the counted name or address and of the window
    ends_at = models.DateTimeField()
    count = models.PositiveIntegerField()

    class Meta:
        # serves jobs.worker.pruning.prune
        indexes = [models.Index(fields=["ends_at"], name="sign_in_counter_ended")]


class IdempotencyKey(models.Model):
    """The key that a caller gave to a request that created an object, and the object's id, see `api.idempotency`."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_index=False, related_name="+")
    path = models.CharField(max_length=200)  # of the request
    key = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)  # of the request's body
    created_id = models.CharField(max_length=64)  # the id of the created object
    ends_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "path", "key"], name="idempotency_key_once")]
        # serves jobs.worker.pruning.prune
        indexes = [models.Index(fields=["ends_at"], name="idempotency_key_ended")]


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
