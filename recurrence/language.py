"""The language of a description: translations of its phrases, names, and the formats of dates and times."""

from datetime import date

from recurrence.english_words import MONTHS, WEEKDAYS, clock


class Language:
    """English.  Subclasses are other languages: they replace every method."""

    def gettext(self, text: str) -> str:
        """Return the translation of `text`."""
        return text

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        """Return the translation in the plural form of `number`."""
        return singular if number == 1 else plural

    def format_weekday(self, weekday: int) -> str:
        """Return the name of a weekday, 0 is Monday, in the form that follows "every week on"."""
        return WEEKDAYS[weekday]

    def format_month(self, month: int) -> str:
        """Return the name of a month, 1 is January, in the form that follows "on the first Monday of"."""
        return MONTHS[month - 1]

    def format_day_of_year(self, day: date) -> str:
        """Return the date without its year: 9 March."""
        return f"{day.day} {MONTHS[day.month - 1]}"

    def format_date(self, day: date) -> str:
        """Return the date: 9 March 2026."""
        return f"{self.format_day_of_year(day)} {day.year}"

    def format_time(self, second_of_day: int) -> str:
        """Return the time: 18:00, or 18:00:30 with seconds other than 0."""
        return clock(second_of_day)


ENGLISH = Language()


def gettext_noop(text: str) -> str:
    """Return `text` as it is: a mark for the catalogues of translations.  `Language.gettext` translates it later."""
    return text
