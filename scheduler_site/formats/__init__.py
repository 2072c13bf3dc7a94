"""How dates are written in each language, by name: for `date_format(day, NAME)` and `{{ day|date:"NAME" }}`.

Of Wednesday, 21 October 2026:

LONG_DATE_FORMAT    Wednesday 21 October 2026        DATE_FORMAT        Wed 21 October 2026
DAY_FORMAT          Wed 21 October                   SHORT_DATE_FORMAT  21 October 2026
LONG_DAY_FORMAT     Wednesday 21 October
MONTH_DAY_FORMAT    21 October                       SHORT_DAY_FORMAT   21 Oct
DAY_OF_MONTH_FORMAT 21                               YEAR_MONTH_FORMAT  October 2026

Portuguese and Turkish write months within a sentence with a small letter, which Django's own catalogues do not.
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
