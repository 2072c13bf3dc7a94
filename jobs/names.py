"""Validators for the names of collections, jobs, triggers and resource groups.

Source: the Terraform resource for the original service (start with a letter, then letters, digits, `-`, `_`); the
length of 100 is our own limit.  Names are ASCII, so `Lower` in the database is enough to compare them in any case.
"""

from django.core.validators import RegexValidator

NAME_LENGTH = 100

validate_name = RegexValidator(
    r"\A[A-Za-z][A-Za-z0-9_-]*\Z", "start with a letter, then take letters, digits, hyphens and underscores", "invalid"
)
validate_trigger_name = RegexValidator(
    r"\A[A-Za-z0-9_][A-Za-z0-9_.@-]*\Z", "take letters, digits, underscores, dots, hyphens and @", "invalid"
)
validate_group = RegexValidator(
    r"\A[A-Za-z0-9_][A-Za-z0-9_.-]*\Z", "take letters, digits, underscores, dots and hyphens", "invalid"
)
validate_resource_group = RegexValidator(
    r"\A[A-Za-z0-9_().-]*[A-Za-z0-9_()-]\Z",
    "take letters, digits, underscores, parentheses, hyphens and dots, not a dot at the end",
    "invalid",
)
