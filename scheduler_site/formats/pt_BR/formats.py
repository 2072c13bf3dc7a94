"""Dates in the Portuguese of Brazil; the names are explained in `scheduler_site.formats`.

E is the month within a date, with a small first letter.
"""

LONG_DATE_FORMAT = r"l, j \d\e E \d\e Y"
LONG_DAY_FORMAT = r"l, j \d\e E"
DATE_FORMAT = r"D, j \d\e E \d\e Y"
DAY_FORMAT = r"D, j \d\e E"
SHORT_DATE_FORMAT = r"j \d\e E \d\e Y"
MONTH_DAY_FORMAT = r"j \d\e E"
SHORT_DAY_FORMAT = r"j \d\e b"
DAY_OF_MONTH_FORMAT = "j"
YEAR_MONTH_FORMAT = r"F \d\e Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = f"{DATE_FORMAT}, {TIME_FORMAT}"
SHORT_DATETIME_FORMAT = f"{SHORT_DATE_FORMAT}, {TIME_FORMAT}"
