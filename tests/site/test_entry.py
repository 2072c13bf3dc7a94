"""Invalid settings stop every kind of process at its start, with a message of one line."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

NO_KEYS = "quando: with DATABASE_URL, set SECRET_KEY and ENCRYPTION_KEYS in the environment as well\n"
COMMANDS = {
    "check": ("manage.py", "check"),
    "rotation": ("manage.py", "rotate_encryption_keys"),
    "web": ("-c", "import scheduler_site.asgi"),
    "worker": ("-m", "celery", "--quiet", "--app", "scheduler_site", "worker", "--pool", "threads"),
    "beat": ("-m", "celery", "--quiet", "--app", "scheduler_site", "beat"),
}


def end_of(command: tuple[str, ...], **environment: str) -> tuple[int, str]:
    """Return the exit code and the output of the process."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "scheduler_site.settings"} | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("missing", ["SECRET_KEY", "ENCRYPTION_KEYS"])
def test_no_process_starts_with_database_url_but_without_keys(command, missing):
    keys = {"SECRET_KEY": "signs", "ENCRYPTION_KEYS": "x" * 43 + "="} | {missing: ""}

    assert end_of(command, DATABASE_URL="postgresql://u@nowhere/d", **keys) == (1, NO_KEYS)


def test_message_about_an_invalid_key_does_not_contain_the_key():
    code, output = end_of(COMMANDS["check"], ENCRYPTION_KEYS="violet-harbour-31")

    assert (code, output) == (1, "quando: ENCRYPTION_KEYS must list keys of 32 bytes in URL-safe base64\n")


def test_message_about_an_invalid_database_url_has_one_line():
    keys = {"SECRET_KEY": "signs", "ENCRYPTION_KEYS": "x" * 43 + "="}
    code, output = end_of(COMMANDS["check"], DATABASE_URL="mysterious://here", **keys)

    assert (code, output.count("\n")) == (1, 1)
    assert output.startswith("quando: ")
