"""What people fill in about themselves: who they are at sign-in, how they read, which programs act for them."""

from datetime import UTC, time
from math import ceil

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.utils import timezone
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import Throttled

from accounts.authentication import count_failure, refuse_exhausted
from accounts.clock import time_words
from accounts.models import ApiToken, HourCycle, Role, User, WeekStart
from accounts.zones import ZoneField

A_MINUTE = 60  # seconds
SIX_IN_THE_EVENING = time(18)
TOKEN_ROLES = {
    Role.READER.value: _("read, but no secrets"),
    Role.OPERATOR.value: _("also create, change, run and delete"),
    Role.OWNER.value: _("do all that you may"),
}


class SignInForm(AuthenticationForm):
    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": _("Name and password do not belong together."),
        "inactive": _("This account is switched off."),
    }

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("User name")
        self.fields["password"].label = _("Password")

    def clean(self):
        """Failed tries count together with those at the APIs, and are refused before the password is looked at."""
        username, now = self.cleaned_data.get("username"), timezone.now()
        try:
            refuse_exhausted(self.request, username, now)
        except Throttled as refusal:
            raise forms.ValidationError(too_many_tries(refusal.wait or 0)) from None
        try:
            return super().clean()
        except forms.ValidationError:
            count_failure(self.request, username, now)
            raise


def too_many_tries(wait_s: float) -> str:
    minutes = max(1, ceil(wait_s / A_MINUTE))
    return ngettext(
        "Too many failed tries. The next is possible in %(minutes)d minute.",
        "Too many failed tries. The next is possible in %(minutes)d minutes.",
        minutes,
    ) % {"minutes": minutes}


class ReadingForm(forms.ModelForm):
    """How somebody reads: when it is, in which language."""

    time_zone = ZoneField(
        label=_("Time zone"), help_text=_("Pages show times in this zone. Schedules stay as they are.")
    )
    language = forms.ChoiceField(
        label=_("Language"),
        required=False,
        choices=lambda: [("", gettext("As the browser asks")), *settings.LANGUAGES],
        help_text=_("Of the calendar and your account. The administration is in English."),
    )
    week_start = forms.TypedChoiceField(
        label=_("Weeks begin on"),
        coerce=int,
        choices=lambda: [(day.value, WEEKDAYS[day.value]) for day in WeekStart],
    )
    hour_cycle = forms.TypedChoiceField(
        label=_("Times are written as"),
        coerce=int,
        choices=lambda: [(cycle.value, time_words(SIX_IN_THE_EVENING, cycle)) for cycle in HourCycle],
    )


class AccountForm(ReadingForm):
    """What everybody may change about themselves."""

    class Meta:
        model = User
        fields = ("first_name", "last_name", "email", "time_zone", "language", "week_start", "hour_cycle")
        labels = {"first_name": _("First name"), "last_name": _("Last name"), "email": _("E-mail address")}
        widgets = {
            "first_name": forms.TextInput(attrs={"autocomplete": "given-name"}),
            "last_name": forms.TextInput(attrs={"autocomplete": "family-name"}),
            "email": forms.EmailInput(attrs={"autocomplete": "email"}),
        }

    @property
    def you(self) -> list:
        return [self[name] for name in ("first_name", "last_name", "email")]

    @property
    def places(self) -> list:
        return [self[name] for name in ("time_zone", "language")]

    @property
    def habits(self) -> list:
        return [self[name] for name in ("week_start", "hour_cycle")]


class TokenForm(forms.ModelForm):
    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("What uses it."))
    role = forms.TypedChoiceField(
        label=_("It may"),
        coerce=int,
        initial=Role.OWNER,
        choices=TOKEN_ROLES.items(),
        help_text=_("The most it may do; your own role limits it further."),
    )
    expires_at = forms.DateTimeField(
        label=_("Expires"),
        required=False,
        help_text=_("In your zone. Never, if empty."),
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
            raise forms.ValidationError(_("There is no such time in UTC")) from None
        if expires_at <= timezone.now():
            raise forms.ValidationError(_("This moment has passed; take a later one"))
        return expires_at
