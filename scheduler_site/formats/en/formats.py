"""How Django itself writes dates and times: as the look does."""

DATE_FORMAT = "D j F Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "D j F Y, H:i"
SHORT_DATE_FORMAT = "j F Y"
SHORT_DATETIME_FORMAT = "j F Y, H:i"
