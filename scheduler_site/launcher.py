"""Start a whole installation in the foreground: `make run`.

It checks what could prevent a start, prepares the database and starts the processes of the Procfile.  It stops all of
them on Ctrl-C or SIGTERM, or when one of them ends during the start.  A process that ends later is started again.
"""

import logging
import os
import socket
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from scheduler_site import preflight
from scheduler_site.preflight import BASE_DIR, PreflightError
from scheduler_site.restarts import RestartLog
from scheduler_site.supervisor import BROKER, Supervisor, log, parse_procfile
from scheduler_site.urls_base import EVERY_INTERFACE, base_url, echo_url

LOOPBACK = "127.0.0.0/8"


def main() -> int:
    supervisor = Supervisor(BASE_DIR)
    try:
        host, port = preflight.address()
        folder = preflight.data_folder()
        preflight.lock_data_folder(folder)
        preflight.refuse_taken_port(host, port)
        broker_url, embedded = preflight.broker_url(folder)
        set_environment(broker_url)
        username, password = prepare(host, port)
    except PreflightError as error:
        print(f"quando: {error}", file=sys.stderr)
        return 1
    restart_log = RestartLog(folder)
    commands = parse_procfile((BASE_DIR / "Procfile").read_text())
    broker = commands.pop(BROKER)
    if embedded:
        supervisor.start({BROKER: broker})
        supervisor.wait_for(lambda: broker_answers(broker_url))
    if not supervisor.is_over:
        supervisor.start(commands)
    if supervisor.wait_for(lambda: web_answers(host, port)):
        log(welcome(host, port, folder, username, password))
        supervisor.keep_running(lambda name, exit_code: restart_log.add(name, exit_code, datetime.now(UTC)))
    elif password:
        log(f"quando: the first user is {username!r} with the password {password}, which is not shown again")
    return supervisor.stop()


def set_environment(broker_url: str) -> None:
    """Set BROKER_URL, extend PATH, and set defaults for other environment variables of the processes."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings")
    os.environ.setdefault("EGRESS_ALLOW", LOOPBACK)
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    os.environ["BROKER_URL"] = broker_url
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def prepare(host: str, port: int) -> tuple[str, str | None]:
    """Migrate the database; return the first user's name and, if it has just been generated, the password."""
    import django
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import call_command
    from django.core.management.base import BaseCommand, SystemCheckError
    from django.db import DatabaseError, connections
    from django.utils import timezone

    try:
        django.setup()
        BaseCommand().check()
    except (ImproperlyConfigured, SystemCheckError, ValueError) as error:  # ValueError: a setting with a wrong value
        raise PreflightError(one_line(error)) from None

    from scheduler_site.bootstrap import bootstrap

    logging.disable(logging.INFO)  # nobody needs log lines about the creation of samples
    demo = os.environ.get("DEMO") != "0"
    username, password = os.environ.get("ADMIN_USERNAME") or "admin", os.environ.get("ADMIN_PASSWORD")
    try:
        call_command("migrate", verbosity=0)
        first = bootstrap(username, password, echo_url(host, port) if demo else None, timezone.now())
    except DatabaseError as error:
        raise PreflightError(f"the database cannot be used: {one_line(error)}") from None
    connections.close_all()
    return first


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def welcome(host: str, port: int, folder: Path, username: str, password: str | None) -> str:
    known = f"as it was set; `.venv/bin/python manage.py changepassword {username}` sets another"
    return f"""
  Quando is running.

  Address    {base_url(host, port)}/admin/
  User name  {username}
  Password   {password or known}
  Data       {folder}
  Calls      may go to public addresses{f" and to {os.environ['EGRESS_ALLOW']}" if os.environ["EGRESS_ALLOW"] else ""}
  Stop       Ctrl-C
"""


def web_answers(host: str, port: int) -> bool:
    with suppress(OSError), socket.create_connection((EVERY_INTERFACE.get(host, host), port), timeout=1):
        return True
    return False


def broker_answers(url: str) -> bool:
    parts = urlsplit(url)
    with suppress(OSError):
        if parts.hostname:
            socket.create_connection((parts.hostname, parts.port), timeout=1).close()
        else:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(unquote(parts.path))
        return True
    return False


if __name__ == "__main__":
    sys.exit(main())
