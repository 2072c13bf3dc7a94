"""The settings of the tests: those of the product, with another data folder and fast password hashes."""

import os
import tempfile

os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="quando-test-"))

from scheduler_site.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

EGRESS_ALLOW = ["127.0.0.0/8", "::1/128"]  # similar to `make run`: the targets of tests are on this machine

if EMBEDDED:  # noqa: F405
    # a file, as in an installation, so that threads can compete for it; its data need not survive a power cut
    DATABASES["default"]["TEST"] = {"NAME": DATA_DIR / "tests.sqlite3"}  # noqa: F405
    DATABASES["default"]["OPTIONS"]["init_command"] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"  # noqa: F405

# the product's own apps are folders in BASE_DIR
OWN_APPS = sorted(
    {app.partition(".")[0] for app in INSTALLED_APPS if (BASE_DIR / app.partition(".")[0]).is_dir()}  # noqa: F405
)
