"""The viewer's language and hour cycle, for descriptions of series by `recurrence.describe_series`."""

from dataclasses import dataclass
from datetime import date, time

from django.utils.dates import MONTHS_ALT
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext, pgettext_lazy

from accounts.time_format import time_words
from recurrence.language import Language

WEEKDAYS = (
    pgettext_lazy("every week on", "Monday"),
    pgettext_lazy("every week on", "Tuesday"),
    pgettext_lazy("every week on", "Wednesday"),
    pgettext_lazy("every week on", "Thursday"),
    pgettext_lazy("every week on", "Friday"),
    pgettext_lazy("every week on", "Saturday"),
    pgettext_lazy("every week on", "Sunday"),
)


@dataclass(frozen=True, slots=True)
class ViewerLanguage(Language):
    hour_cycle: int

    def gettext(self, text: str) -> str:
        return gettext(text)

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        return ngettext(singular, plural, number)

    def format_weekday(self, weekday: int) -> str:
        return str(WEEKDAYS[weekday])

    def format_month(self, month: int) -> str:
        return str(MONTHS_ALT[month])

    def format_day_of_year(self, day: date) -> str:
        return date_format(day, "MONTH_DAY_FORMAT")

    def format_date(self, day: date) -> str:
        return date_format(day, "SHORT_DATE_FORMAT")

    def format_time(self, second_of_day: int) -> str:
        minute_of_day, second = divmod(second_of_day, 60)
        return time_words(time(*divmod(minute_of_day, 60), second), self.hour_cycle, with_seconds=second > 0)
