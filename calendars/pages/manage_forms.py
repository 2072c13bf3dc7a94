"""What people fill in about calendars: name and hue, who else sees one, feeds, and what is to be imported."""

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Role
from calendars.feeds import NAME_LENGTH as FEED_NAME_LENGTH
from calendars.models import Calendar, Hue
from jobs.notations import CODE

HUES = {
    Hue.SKY: _("Sky"),
    Hue.MOSS: _("Moss"),
    Hue.CLAY: _("Clay"),
    Hue.IRIS: _("Iris"),
    Hue.STRAW: _("Straw"),
    Hue.SEA: _("Sea"),
    Hue.PLUM: _("Plum"),
    Hue.BRICK: _("Brick"),
}
ROLES = {Role.READER: _("sees it"), Role.OPERATOR: _("changes its events")}
FILE_LENGTH = 1_048_576  # bytes of an iCalendar file


class CalendarForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=255, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    hue = forms.ChoiceField(label=_("Colour"), choices=list(HUES.items()), widget=forms.RadioSelect)


class PersonField(forms.ModelChoiceField):
    def label_from_instance(self, person) -> str:
        return person_words(person)


def person_words(person) -> str:
    """João Prado (joao)."""
    name = person.get_full_name()
    return f"{name} ({person.get_username()})" if name else person.get_username()


class ShareForm(forms.Form):
    """`people` are those who may be let in."""

    person = PersonField(None, label=_("Who"), empty_label=None)
    role = forms.TypedChoiceField(
        label=pgettext_lazy("somebody may", "May"),
        coerce=int,
        choices=[(Role.READER.value, _("see it")), (Role.OPERATOR.value, _("change events"))],
    )

    def __init__(self, data=None, *, people):
        super().__init__(data)
        self.fields["person"].queryset = people


class FeedForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=FEED_NAME_LENGTH,
        help_text=_("What reads it, so that you know which address to revoke."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class ImportForm(forms.Form):
    """An iCalendar file, or its text; the text stays on the page between the report and the taking."""

    calendar = forms.ModelChoiceField(Calendar.objects.none(), label=_("Into"), empty_label=None)
    file = forms.FileField(
        label=_("File"), required=False, widget=forms.FileInput(attrs={"accept": ".ics,text/calendar"})
    )
    text = forms.CharField(
        label=_("Or its text"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={**CODE, "rows": 6, "placeholder": "BEGIN:VCALENDAR"}),
    )
