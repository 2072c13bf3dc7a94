"""The forms with which people sign in, change their account and password, and create API tokens."""

from datetime import UTC, time
from math import ceil
from typing import cast

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AdminPasswordChangeForm, AuthenticationForm, PasswordChangeForm
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import Throttled

from accounts.models import ApiToken, HourCycle, Role, Subscription, User, WeekStart, users_with_email
from accounts.sign_in_limits import SignInAttempt
from accounts.time_format import time_words
from accounts.zones import ZoneField

A_MINUTE = 60  # seconds
SIX_IN_THE_EVENING = time(18)
EMAIL_TAKEN = _("This address cannot be used. Enter another one.")
TOKEN_ROLES = {
    Role.READER.value: _("Read only, without secrets"),
    Role.OPERATOR.value: _("Read, create, change, run and delete"),
    Role.OWNER.value: _("Same as your role"),
}


MEMBER_ROLES = {
    Role.READER: _("Reader: can see everything except secrets, and cannot change anything"),
    Role.OPERATOR: _("Operator: can also create, change, run and delete jobs and collections"),
    Role.OWNER: _("Owner: can also manage the members"),
}


class SignInForm(AuthenticationForm):
    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": _("The user name or the password is incorrect."),
        "inactive": _("This account is disabled."),
    }

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("User name")
        self.fields["password"].label = _("Password")

    def clean(self):
        """Refuse too many failed tries before the password is checked.  Failed tries at the APIs count as well."""
        attempt = SignInAttempt(self.request, self.cleaned_data.get("username", ""), timezone.now())
        refuse_too_many(attempt)
        try:
            cleaned = super().clean()
        except forms.ValidationError:
            attempt.count_failure()
            raise
        if self.get_user():
            attempt.record_success()
        return cleaned


def refuse_too_many(attempt: SignInAttempt) -> None:
    """Raise ValidationError if too many earlier tries have failed."""
    try:
        attempt.refuse_exhausted()
    except Throttled as error:
        raise forms.ValidationError(too_many_tries(error.wait or 0)) from None


def too_many_tries(wait_s: float) -> str:
    minutes = max(1, ceil(wait_s / A_MINUTE))
    return ngettext(
        "Too many failed attempts. Try again in %(minutes)d minute.",
        "Too many failed attempts. Try again in %(minutes)d minutes.",
        minutes,
    ) % {"minutes": minutes}


class RevokeTokensForm(forms.Form):
    """A mixin for password forms that can also revoke all API tokens of the user."""

    revoked_count = 0  # tokens that `save` has revoked
    revoke_tokens = forms.BooleanField(
        label=_("Also revoke all API tokens"),
        required=False,
        initial=True,
        help_text=_("Programs that use them stop working until they have new tokens."),
    )

    def save(self, commit=True):
        with transaction.atomic():
            user = super().save(commit)  # type: ignore[misc]  # from the password form that uses this mixin
            if self.cleaned_data["revoke_tokens"]:
                self.revoked_count = user.apitoken_set.all().delete()[0]
        return user


class ChangePasswordForm(RevokeTokensForm, PasswordChangeForm):
    """Change one's own password.  Wrong old passwords count as failed tries to sign in."""

    def __init__(self, request, *args, **kwargs):
        super().__init__(request.user, *args, **kwargs)
        self.request = request

    def clean_old_password(self):
        attempt = SignInAttempt(self.request, self.user.get_username(), timezone.now())
        refuse_too_many(attempt)
        try:
            return super().clean_old_password()
        except forms.ValidationError:
            attempt.count_failure()
            raise


class SetPasswordForm(RevokeTokensForm, AdminPasswordChangeForm):
    """Set or remove the password of another account, as a superuser."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if choice := self.fields.get("usable_password"):  # absent for an account without a password
            choice.label = "Sign-in with a password"
            choice.help_text = "Without a password nobody can sign in as this user."


class PreferencesForm(forms.ModelForm):
    """A user's preferences: time zone, language, first day of weeks and hour cycle."""

    time_zone = ZoneField(
        label=_("Time zone"), help_text=_("Pages show times in this time zone. Schedules do not change.")
    )
    language = forms.ChoiceField(
        label=_("Language"),
        required=False,
        choices=lambda: [("", gettext("Browser language")), *settings.LANGUAGES],
        help_text=_("Language of the calendar and of your account. The administration is in English."),
    )
    week_start = forms.TypedChoiceField(
        label=_("First day of the week"),
        coerce=int,
        choices=lambda: [(day.value, WEEKDAYS[day.value]) for day in WeekStart],
    )
    hour_cycle = forms.TypedChoiceField(
        label=_("Time format"),
        coerce=int,
        choices=lambda: [(cycle.value, time_words(SIX_IN_THE_EVENING, cycle)) for cycle in HourCycle],
    )


class EmailForm(forms.ModelForm):
    """Keep an e-mail address to one account, because `/v1/mint` accepts it in place of the user name."""

    def clean_email(self):
        """Refuse the e-mail address or user name of another account; the message does not name the account."""
        address = self.cleaned_data["email"]
        others = User.objects.exclude(pk=self.instance.pk)
        same_address = users_with_email(address).values("pk")
        if address and others.filter(Q(pk__in=same_address) | Q(username__iexact=address)).exists():
            raise forms.ValidationError(EMAIL_TAKEN)
        return address


class AccountForm(EmailForm, PreferencesForm):
    """The data that users may change in their own accounts."""

    class Meta:
        model = User
        fields = ("first_name", "last_name", "email", "time_zone", "language", "week_start", "hour_cycle")
        labels = {"first_name": _("First name"), "last_name": _("Last name"), "email": _("E-mail address")}
        widgets = {
            "first_name": forms.TextInput(attrs={"autocomplete": "given-name"}),
            "last_name": forms.TextInput(attrs={"autocomplete": "family-name"}),
            "email": forms.EmailInput(attrs={"autocomplete": "email"}),
        }

    def save_unless_taken(self) -> bool:
        """Save and return True; return False with an error in the form if another account got the address meanwhile."""
        try:
            with transaction.atomic():
                self.save()
        except IntegrityError:
            self.add_error("email", EMAIL_TAKEN)
            return False
        return True

    @property
    def profile_fields(self) -> list:
        return [self[name] for name in ("first_name", "last_name", "email")]

    @property
    def locale_fields(self) -> list:
        return [self[name] for name in ("time_zone", "language")]

    @property
    def display_fields(self) -> list:
        return [self[name] for name in ("week_start", "hour_cycle")]


class DefaultSubscriptionForm(forms.ModelForm):
    """Choose the subscription to which requests write that name none."""

    class Meta:
        model = User
        fields = ("default_subscription",)
        labels = {"default_subscription": _("Default subscription")}
        help_texts = {
            "default_subscription": _("API requests that do not name a subscription write to this one."),
        }

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        field = cast(forms.ModelChoiceField, self.fields["default_subscription"])
        field.queryset = Subscription.objects.visible_to(self.instance, Role.OPERATOR).order_by("name")
        field.empty_label = gettext("None: if you have several, requests must name one")


class TokenForm(forms.ModelForm):
    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("The program that uses this token."))
    role = forms.TypedChoiceField(
        label=_("Permissions"),
        coerce=int,
        initial=Role.OWNER,
        choices=TOKEN_ROLES.items(),
        help_text=_("The token never has more permissions than your own role."),
    )
    expires_at = forms.DateTimeField(
        label=_("Expires"),
        required=False,
        help_text=_("In your time zone. Leave empty for no expiry."),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )

    class Meta:
        model = ApiToken
        fields = ("name", "role", "expires_at")

    def clean_expires_at(self):
        expires_at = self.cleaned_data["expires_at"]
        if expires_at is None:
            return None
        try:
            expires_at = expires_at.astimezone(UTC)
        except OverflowError:  # the last hours of the year 9999, or the first of year 1
            raise forms.ValidationError(_("This time does not exist in UTC")) from None
        if expires_at <= timezone.now():
            raise forms.ValidationError(_("This time is in the past; choose a later one"))
        return expires_at

    def issue(self, user) -> tuple[ApiToken, str]:
        """Create the token, see ApiTokenManager.issue; the second value is its text.  Raises TooManyTokens."""
        data = self.cleaned_data
        return ApiToken.objects.issue(user, data["name"], data["expires_at"], Role(data["role"]))
