"""Settings.  Every value that an installation may want to change comes from an environment variable.

The embedded default (no DATABASE_URL) stores its database, its broker's files and its keys under DATA_DIR.  The README
has the table of variables.
"""

import os
import re
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from scheduler_site import data_dir, keys

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("DATA_DIR") or BASE_DIR / "var").resolve()


def listed(name: str, default: str = "") -> list[str]:
    """Return the comma-separated items of an environment variable, without blanks."""
    return [item.strip() for item in os.environ.get(name, default).split(",") if item.strip()]


def number(name: str, default: int, least: int = 0) -> int:
    """Return the whole number in an environment variable; it must be `least` or more."""
    text = os.environ.get(name) or str(default)
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) < least:
        raise ImproperlyConfigured(f"{name} must be a whole number{f' from {least}' if least else ''}, not {text!r}")
    return int(text)


def networks(name: str) -> list[str]:
    """Return the comma-separated networks of an environment variable, such as 10.1.0.0/16."""
    for item in listed(name):
        try:
            ip_network(item)
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} must list networks such as 10.1.0.0/16: {error}") from None
    return listed(name)


def directives(name: str) -> list[str]:
    """Return the comma-separated directives for Strict-Transport-Security in an environment variable."""
    found = listed(name)
    if set(found) - {"includeSubDomains", "preload"} or ("preload" in found and "includeSubDomains" not in found):
        raise ImproperlyConfigured(
            f"{name} may be includeSubDomains or includeSubDomains,preload, not {','.join(found)!r}"
        )
    return found


def apps(name: str) -> list[str]:
    """Return the comma-separated Django apps of an environment variable: packages that Python finds."""
    for item in listed(name):
        if not item.replace(".", "").isidentifier() or not find_spec(item.partition(".")[0]):
            raise ImproperlyConfigured(f"{name} must list packages that Python finds, not {item!r}")
    return listed(name)


def address(name: str, default: str, placeholder: str = "") -> str:
    """Return the http or https address in an environment variable, without a slash at its end.

    The address must contain `placeholder`.
    """
    text = (os.environ.get(name) or default).rstrip("/")
    if not re.fullmatch(r"https?://[^\s?#@]+", text) or placeholder not in text:
        wanted = f" with {placeholder} in it" if placeholder else ""
        raise ImproperlyConfigured(f"{name} must be an address such as {default}{wanted}, not {text!r}")
    return text


# Secrets

EMBEDDED = not os.environ.get("DATABASE_URL")
if EMBEDDED:
    data_dir.protect(DATA_DIR)
SECRET_KEY = os.environ.get("SECRET_KEY") or keys.load_or_create(DATA_DIR / "secret_key", keys.new_secret_key, EMBEDDED)
ENCRYPTION_KEYS = keys.validated_encryption_keys(
    listed("ENCRYPTION_KEYS") or [keys.load_or_create(DATA_DIR / "encryption_key", keys.new_encryption_key, EMBEDDED)]
)

# Addresses

DEBUG = False
HOST = os.environ.get("HOST", "127.0.0.1")
PORT = number("PORT", 8000)
PUBLIC_URL = os.environ.get("PUBLIC_URL", "").rstrip("/")  # absolute links; empty: the address of the request
ALLOWED_HOSTS = listed("ALLOWED_HOSTS") or ["127.0.0.1", "localhost", "[::1]", HOST]
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL else []
HTTPS = PUBLIC_URL.startswith("https://")
HSTS = directives("HSTS")

# Applications

INSTALLED_APPS = [
    "scheduler_site.apps.SchedulerSiteConfig",
    "scheduler_site.apps.QuandoAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_celery_beat",
    "django_filters",
    "django_htmx",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "accounts",
    "operations",
    "jobs",
    "triggers",
    "calendars",
    "maintenance",
    *apps("EXTRA_APPS"),
]

MIDDLEWARE = [
    "scheduler_site.path_secrets.PathSecretMiddleware",
    "scheduler_site.middleware.RequestIdMiddleware",
    "scheduler_site.middleware.PlainAddressMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "scheduler_site.middleware.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "scheduler_site.refreshing.RefreshMiddleware",
    "scheduler_site.middleware.ViewerZoneMiddleware",
    "scheduler_site.middleware.ViewerLanguageMiddleware",
]

ROOT_URLCONF = "scheduler_site.urls"
WSGI_APPLICATION = "scheduler_site.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "scheduler_site.navigation.navigation",
            ],
            "builtins": ["scheduler_site.page_parts"],
        },
    }
]

# Database: SQLite in WAL mode unless DATABASE_URL names a PostgreSQL.  With IMMEDIATE, every transaction takes the
# write lock at its begin, so that a read followed by a write never fails halfway.  For this reason ATOMIC_REQUESTS is
# not used.  Opening a connection takes as long as several queries, also with SQLite; an idle connection holds no lock.

KEEP_CONNECTIONS = 60  # seconds, for each thread

if EMBEDDED:
    DATABASES: dict[str, Any] = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": DATA_DIR / "quando.sqlite3",
            "CONN_MAX_AGE": KEEP_CONNECTIONS,
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
            },
        }
    }
else:
    DATABASES = {"default": dj_database_url.config(conn_max_age=KEEP_CONNECTIONS, conn_health_checks=True)}

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The cache has the counters of requests, for each process on its own.  Counters of failed sign-ins are in the database

CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 10_000}}}

# People

AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "account:sign-in"
LOGIN_REDIRECT_URL = "front-door"

# Language and time: the code uses UTC; pages show times in the viewer's zone

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("pt-br", "Português"), ("tr", "Türkçe")]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = ["scheduler_site.formats"]
TIME_ZONE = "UTC"
USE_TZ = True

# Files

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True

# Browser

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = LANGUAGE_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_AGE = 31_536_000  # seconds, one year
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = ["(?i)^(metadata|r)(/|$)"]  # machines that poll follow no redirects, and not all support TLS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = "includeSubDomains" in HSTS
SECURE_HSTS_PRELOAD = "preload" in HSTS
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]  # they concern hosts that may not be Quando's: see HSTS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# REST

PROXIES = number("PROXIES", 0)  # number of proxies in front; each adds to X-Forwarded-For

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.authentication.BearerAuthentication",
        "accounts.authentication.BasicAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": [
        "api.parsers.StrictJSONParser",
        "api.parsers.StrictTextJSONParser",
    ],
    "DEFAULT_RENDERER_CLASSES": ["api.renderers.OrjsonRenderer"],
    "DEFAULT_PAGINATION_CLASS": "api.pagination.KeysetPagination",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_THROTTLE_CLASSES": ["api.throttles.CallerThrottle"],
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "api.schema.DescribedSchema",
    "EXCEPTION_HANDLER": "scheduler_site.errors.handle",
    "DEFAULT_VERSIONING_CLASS": None,
    "URL_FORMAT_OVERRIDE": None,
    "NUM_PROXIES": PROXIES,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
API_REQUESTS_PER_MINUTE = number("API_REQUESTS_PER_MINUTE", 6000)  # of one account in one process; 0: no limit
SPECTACULAR_SETTINGS = {
    "TITLE": "Quando",
    "DESCRIPTION": (
        "The API of Quando, a self-hosted scheduler. All times are in UTC. The names of JSON members are in camelCase."
    ),
    "VERSION": "1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": None},  # None: no request to another server
    "REDOC_DIST": "SIDECAR",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/",
    "PREPROCESSING_HOOKS": ["api.schema.filter_endpoints"],
    "POSTPROCESSING_HOOKS": [
        "api.schema.add_error_responses",
        "api.schema.close_bodies",
        "scheduler_site.patches.describe_patches",
        "api.schema.name_enums",
        "api.schema.describe_answers",
    ],
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {  # each enumeration is a component with this name, see api.schema.name_enums
        "ActionType": "jobs.actions.members.ACTION_TYPES",
        "AfterHold": ["runOnce", "drop"],
        "AnnouncedStatus": ["Scheduled", "Started"],
        "AttemptState": "jobs.models.Attempt.State",
        "AttendeeType": "calendars.api.documents.ATTENDEE_TYPES",
        "AuthenticationType": "jobs.actions.members.AUTHENTICATIONS",
        "BodyType": "calendars.models.BodyType",
        "CalendarItemType": ["single", "series"],
        "ClockChangeKind": "triggers.api.clock_changes.KINDS",
        "ClockEffect": "triggers.api.clock_changes.EFFECTS",
        "ClockGap": "recurrence.wire.clocks.GAPS",
        "ClockRepeat": "recurrence.wire.clocks.REPEATS",
        "ClosedDaySource": "triggers.api.closed_days_documents.SOURCES",
        "ClosedDaysRule": "recurrence.wire.common.RULES",
        "CollectionState": "jobs.models.JobCollection.State",
        "DaysOfMonthIndex": "recurrence.wire.graph.INDEXES",
        "Delivery": "jobs.models.Job.Delivery",
        "DuringMaintenance": "maintenance.models.JobMaintenancePolicy.OnNotice",
        "Expectation": ["run", "held", "skipped"],
        "Frequency": "recurrence.wire.azure.Frequency",
        "GraphWeekday": "recurrence.wire.graph.WEEKDAYS",
        "HttpActionType": "jobs.actions.members.FOLLOWING",
        "HttpMethod": "jobs.actions.members.METHODS",
        "Hue": "calendars.models.Color",
        "Importance": "calendars.models.Importance",
        "ImportStatus": "calendars.ics.import_report.Status",
        "JobMisfire": "triggers.models.Trigger.Misfire",
        "JobState": "jobs.models.Job.State",
        "MaintenanceStep": "maintenance.models.NoticePhase",
        "MaintenanceType": "maintenance.models.EventType",
        "MessageEncoding": "jobs.actions.queue_members.MESSAGE_ENCODINGS",
        "MessageFormat": "jobs.actions.queue_members.MESSAGE_FORMATS",
        "NoticeSource": "maintenance.models.Notice.Source",
        "NoticeStatus": ["Scheduled", "Started", "Completed", "Cancelled"],
        "OccurrenceType": ["single", "occurrence"],
        "OperationState": "operations.models.Operation.State",
        "Overlap": "jobs.models.Job.Overlap",
        "PatternType": "recurrence.wire.graph.TYPES",
        "QuotaFrequency": "jobs.models.Frequency",
        "RangeType": "recurrence.wire.graph.RANGE_TYPES",
        "RetryType": "jobs.actions.members.RETRY_TYPES",
        "Role": ["reader", "operator", "owner"],
        "RunOrder": ["newest", "oldest"],
        "RunOrigin": "jobs.models.Run.Origin",
        "RunState": "jobs.models.Run.State",
        "ScheduleFormat": "recurrence.wire.PARSERS",
        "Sensitivity": "calendars.models.Sensitivity",
        "SharedRole": ["reader", "operator"],
        "ShowAs": "calendars.models.ShowAs",
        "Sku": "jobs.models.Sku",
        "SolarEvent": "recurrence.wire.solar.EVENTS",
        "SwitchedState": ["enabled", "disabled"],
        "TaskName": "jobs.api.schemas.TASK_NAMES",
        "TranslationSide": ["source", "translation"],
        "TransportType": "jobs.actions.queue_members.TRANSPORT_TYPES",
        "TriggerMisfire": "triggers.api.triggers.MISFIRES",
        "Weekday": "recurrence.wire.azure.WEEKDAYS",
    },
}
BODY_LIMIT = 1_048_576  # bytes of a request to an API
JOB_BODY_LIMIT = 16_384  # bytes of a request that writes a job: the original service's limit
DATA_UPLOAD_MAX_MEMORY_SIZE = BODY_LIMIT

# Work: the database is the source of truth; messages of the broker only wake workers

CELERY_BROKER_URL = os.environ.get("BROKER_URL") or f"redis+socket://{quote(str(DATA_DIR))}/broker.sock"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a worker waits for its broker without limit
# the priorities are those of triggers.publisher
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {"visibility_timeout": 3600, "priority_steps": [0, 9]} if "redis" in CELERY_BROKER_URL else {}
)
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_SOFT_TIME_LIMIT = 600
CELERY_TASK_TIME_LIMIT = 660
CELERY_TASK_ROUTES = {
    task: {"queue": "housekeeping"}
    for task in (
        "jobs.tasks.reap",
        "jobs.tasks.prune",
        "calendars.tasks.prune",
        "operations.tasks.*",
        "maintenance.tasks.*",
    )
}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_TIMEZONE = "UTC"
CELERY_TASK_PUBLISH_RETRY = False  # the next pass of the beat publishes the runs again
CELERY_BEAT_SCHEDULER = "triggers.beat:TriggerScheduler"
TRIGGER_GATES = ["maintenance.gate.MaintenanceGate"]  # see triggers.gates
CLOSED_DAY_CALENDARS = "calendars.closed_days.ClosingCalendars"  # see triggers.closed_days

CELERY_DB_REUSE_MAX = (
    1_000_000_000  # tasks of a worker: only Django decides when connections to the database are closed
)

CALLS = number("CALLS", 500, least=1)  # the most calls that a worker process makes at once
CALLS_PER_HOST = number("CALLS_PER_HOST", 250, least=1)
TASK_THREADS = number("TASK_THREADS", 8, least=1)  # of a worker process, for actions of type Task
DRAIN_SECONDS = number("DRAIN_SECONDS", 3)  # for calls in progress when a worker gets the signal to stop

# What jobs may do

EGRESS_ALLOW = networks("EGRESS_ALLOW")  # networks that outbound calls may reach, in addition to public addresses
OAUTH_AUTHORITY = address("OAUTH_AUTHORITY", "https://login.microsoftonline.com")  # for jobs that name no other
STORAGE_QUEUE_URL = address("STORAGE_QUEUE_URL", "https://{account}.queue.core.windows.net", "{account}")
SERVICE_BUS_URL = address("SERVICE_BUS_URL", "https://{namespace}.servicebus.windows.net", "{namespace}")
RETENTION_DAYS = number("RETENTION_DAYS", 60)  # of history, and of completed and faulted jobs
RETENTION_RUNS = number("RETENTION_RUNS", 1000)  # history that is stored for one job
METADATA_REQUESTS_PER_SECOND = number("METADATA_REQUESTS_PER_SECOND", 5)  # of one machine or account; 0: no limit
LISTENING_HOURS = number("LISTENING_HOURS", 24, least=1)  # after a poll; the original service had the same limit
OPERATION_RETENTION_HOURS = number("OPERATION_RETENTION_HOURS", 24, least=24)  # after their end

# Logs

LOG_LEVEL = os.environ.get("LOG_LEVEL", "INFO")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "propagate": True, "level": "INFO"},
        "celery.worker.strategy": {"level": "WARNING"},  # it logs a line for every message; the rows of runs have more
        "celery.app.trace": {"level": "WARNING"},
        # Celery sets its own level on the root logger; our modules and an installation's tasks use LOG_LEVEL
        **{
            app.partition(".")[0]: {"level": LOG_LEVEL}
            for app in ("operations", "jobs", "triggers", "maintenance", *apps("EXTRA_APPS"))
        },
    },
}
