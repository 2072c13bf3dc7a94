"""Named date formats of each language, for `date_format(day, NAME)` and `{{ day|date:"NAME" }}`.

The formats of Wednesday, 21 October 2026:

LONG_DATE_FORMAT    Wednesday 21 October 2026        DATE_FORMAT        Wed 21 October 2026
DAY_FORMAT          Wed 21 October                   SHORT_DATE_FORMAT  21 October 2026
LONG_DAY_FORMAT     Wednesday 21 October
MONTH_DAY_FORMAT    21 October                       SHORT_DAY_FORMAT   21 Oct
DAY_OF_MONTH_FORMAT 21                               YEAR_MONTH_FORMAT  October 2026

In Portuguese and Turkish, a month within a sentence begins with a small letter.  Django's own catalogues have a capital
letter there.
"""

from django.utils.translation import pgettext_lazy

MONTHS_WITHIN = (
    pgettext_lazy("alt. month", "January"),
    pgettext_lazy("alt. month", "February"),
    pgettext_lazy("alt. month", "March"),
    pgettext_lazy("alt. month", "April"),
    pgettext_lazy("alt. month", "May"),
    pgettext_lazy("alt. month", "June"),
    pgettext_lazy("alt. month", "July"),
    pgettext_lazy("alt. month", "August"),
    pgettext_lazy("alt. month", "September"),
    pgettext_lazy("alt. month", "October"),
    pgettext_lazy("alt. month", "November"),
    pgettext_lazy("alt. month", "December"),
)
