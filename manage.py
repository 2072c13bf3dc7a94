#!/usr/bin/env python3
"""Django's entry point."""

import sys


def main() -> None:
    from django.core.management import execute_from_command_line

    from scheduler_site.entry import exit_on_bad_settings

    if not any(argument.startswith("--settings") for argument in sys.argv):  # which are read only after that
        exit_on_bad_settings()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
