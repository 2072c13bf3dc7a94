"""How dates are written in each language, by name: for `date_format(day, NAME)` and `{{ day|date:"NAME" }}`.

Of Wednesday, 21 October 2026:

LONG_DATE_FORMAT    Wednesday 21 October 2026        DATE_FORMAT        Wed 21 October 2026
DAY_FORMAT          Wed 21 October                   SHORT_DATE_FORMAT  21 October 2026
LONG_DAY_FORMAT     Wednesday 21 October
MONTH_DAY_FORMAT    21 October                       SHORT_DAY_FORMAT   21 Oct
DAY_OF_MONTH_FORMAT 21                               YEAR_MONTH_FORMAT  October 2026
"""
