"""Forms to manage calendars: name and hue, sharing, feeds and import."""

from django import forms
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Role
from calendars.feeds import NAME_LENGTH as FEED_NAME_LENGTH
from calendars.models import Calendar, Color
from calendars.pages.event_form import CalendarField
from jobs.forms.fields import CODE

HUES = {
    Color.SKY: _("Sky"),
    Color.MOSS: _("Moss"),
    Color.CLAY: _("Clay"),
    Color.IRIS: _("Iris"),
    Color.STRAW: _("Straw"),
    Color.SEA: _("Sea"),
    Color.PLUM: _("Plum"),
    Color.BRICK: _("Brick"),
}
ROLES = {Role.READER: _("can view"), Role.OPERATOR: _("can edit")}
FILE_LENGTH = 900_000  # bytes of an iCalendar file; with line ends as browsers send them, a form may be this long


class CalendarForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=255, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    hue = forms.ChoiceField(label=_("Colour"), choices=list(HUES.items()), widget=forms.RadioSelect)


class PersonField(forms.ModelChoiceField):
    def label_from_instance(self, person) -> str:
        return person_words(person)


def person_words(person) -> str:
    """Return full name and user name, as in João Prado (joao)."""
    name = person.get_full_name()
    return f"{name} ({person.get_username()})" if name else person.get_username()


class ShareForm(forms.Form):
    """`people` are those with whom the calendar can be shared."""

    person = PersonField(None, label=_("Person"), empty_label=None)
    role = forms.TypedChoiceField(
        label=pgettext_lazy("somebody may", "Permission"),
        coerce=int,
        choices=[(Role.READER.value, _("can view")), (Role.OPERATOR.value, _("can edit"))],
    )

    def __init__(self, data=None, *, people):
        super().__init__(data)
        self.fields["person"].queryset = people


class FeedForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=FEED_NAME_LENGTH,
        help_text=_("The program that reads it, so that you know which address to revoke."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class ImportForm(forms.Form):
    """An iCalendar file or its text, as `content`.

    After the report, the content of a file is sent again as text.
    """

    calendar = CalendarField(Calendar.objects.none(), label=_("Import into"), empty_label=None)
    file = forms.FileField(
        label=_("File"), required=False, widget=forms.FileInput(attrs={"accept": ".ics,text/calendar"})
    )
    text = forms.CharField(
        label=_("Or paste the text"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={**CODE, "rows": 6, "placeholder": "BEGIN:VCALENDAR"}),
    )

    content = ""

    def __init__(self, data=None, files=None, *, calendars, viewer, **kwargs):
        super().__init__(data, files, **kwargs)
        self.fields["calendar"].queryset, self.fields["calendar"].viewer = calendars, viewer

    def clean_file(self) -> str:
        file = self.cleaned_data["file"]
        if file is None:
            return ""
        if file.size > FILE_LENGTH:
            message = gettext("This file has %(size)s bytes; the limit here is %(most)s. The API accepts larger files")
            raise forms.ValidationError(message % {"size": f"{file.size:,}", "most": f"{FILE_LENGTH:,}"})
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise forms.ValidationError(gettext("This is not UTF-8 text, as an iCalendar file must be")) from None

    def clean(self) -> None:
        super().clean()
        self.content = str(self.cleaned_data.get("file") or self.cleaned_data.get("text") or "")
        if not self.content and not self.errors:
            self.add_error("file", gettext("Choose a file, or paste the text"))
