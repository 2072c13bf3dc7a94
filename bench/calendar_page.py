"""The time of the calendar's month page, compared with rendering the same template from rows that are ready.

`python -m bench.calendar_page [--rounds N]` creates 1,000 series without end in its own SQLite database; the month
shows 500 occurrences.  Each figure is the lowest of its rounds, in milliseconds of CPU time.  What is measured takes
turns in every round, and the database is in the process, so that other work of the machine does not matter.

The first answer after a change is measured in four cases: one series has changed; all series have changed, but only in
their subjects; the cache has nothing of the window, with the rules of the series parsed already, and without.

The last figures compare the rendering with and without `calendars.pages.stack`, at several depths of the stack.
"""

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import partial

MONTH = date(2026, 10, 1)
NOW = datetime(2026, 10, 21, 12, 32, tzinfo=UTC)
SINCE = datetime(2019, 1, 7, 9)  # noqa: DTZ001  # a wall time: the series are years old
MONTHLY, WEEKLY, SERIES = 360, 22, 1_000  # of SERIES; all others are yearly, in other months
MOST = 2.0  # times the rendering
DEPTHS = range(0, 136, 6)  # frames below the rendering; in this range, it crosses the border of a chunk of the stack
ANSWERS = (
    "whole answer, with the session",
    "when one series has changed",
    "when all series have changed",
    "when nothing of the window is kept",
    "nor any rule has been read",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.calendar_page", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="quando-bench-") as folder:
        os.environ |= {"DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "scheduler_site.settings"}
        os.environ.pop("DATABASE_URL", None)
        measure(rounds)


def measure(rounds: int) -> None:
    import django

    django.setup()
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application
    from django.db.models import F
    from django.template.loader import get_template
    from django.test import Client, RequestFactory
    from django.urls import reverse

    from calendars import models
    from calendars.pages import occurrence_cache, views
    from calendars.pages.filters import Query
    from calendars.pages.stack import call_with_reserved_stack

    logging.disable(logging.WARNING)
    call_command("migrate", verbosity=0)
    user = build()
    query = Query(date=MONTH.replace(day=21))
    context = views.page_values(user, views.build_view_context(user, query, NOW))
    address = query.address(reverse("calendar:page"))
    request = RequestFactory().get(address)
    request.user, request.id, request.htmx = user, "bench", False
    template = get_template("calendar/page.html")
    client = Client()
    client.force_login(user)
    application = get_wsgi_application()
    cookies = {"HTTP_HOST": "localhost", "HTTP_COOKIE": client.cookies.output(header="", sep=";").strip()}
    statuses: list[str] = []

    def answer() -> None:
        response = application(
            RequestFactory().get(address, **cookies).environ, lambda status, _: statuses.append(status)
        )
        assert statuses.pop() == "200 OK"
        assert b"".join(response)
        response.close()

    def prepare() -> None:
        call_with_reserved_stack(views.page_values, user, views.build_view_context(user, query, NOW))

    def render() -> None:
        call_with_reserved_stack(template.render, context, request)

    def change(events) -> None:
        events.update(subject=f"Series {time.monotonic()}")
        models.Calendar.objects.update(revision=F("revision") + 1)

    def clear_windows() -> None:
        occurrence_cache.CACHE = occurrence_cache.OccurrenceCache(occurrence_cache.MOST)

    def clear_rules() -> None:
        clear_windows()
        models.compile_series.cache_clear()

    one = models.Event.objects.filter(pk=models.Event.objects.values("pk")[:1])
    rendered, prepared, *answers = least(
        rounds,
        (nothing, render),
        (nothing, prepare),
        (nothing, answer),
        (lambda: change(one), answer),
        (lambda: change(models.Event.objects.all()), answer),
        (clear_windows, answer),
        (clear_rules, answer),
    )
    occurrences = sum(each["count"] for each in map(counted, context["layers"]["calendars"]))
    print(
        f"{occurrences:,} occurrences of {SERIES:,} series, in ms, the least of {rounds}, and in times the rendering:"
    )
    print(f"{'template rendered from ready rows':<40}{rendered:>8.1f}")
    print(f"{'rows made ready':<40}{prepared:>8.1f}{prepared / rendered:>8.2f}")
    for name, took in zip(ANSWERS, answers, strict=True):
        print(f"{name:<40}{took:>8.1f}{took / rendered:>8.2f}")
    print(f"(at most {MOST} with nothing changed)")
    print_stack_figures(max(rounds // 6, 3), render, lambda: template.render(context, request))


def print_stack_figures(rounds: int, with_stack: Callable[[], object], without: Callable[[], object]) -> None:
    """Print the fastest and the slowest rendering among DEPTHS, each with the reserved stack and without."""
    for name, function in (("with reserved stack", with_stack), ("without", without)):
        took = least(rounds, *((nothing, partial(call_at_depth, depth, function)) for depth in DEPTHS))
        print(f"template at {len(took)} depths, {name:<22}{min(took):>8.1f} to {max(took):.1f}")


def call_at_depth(depth: int, function: Callable[[], object]) -> object:
    return function() if depth == 0 else call_at_depth(depth - 1, function)


def nothing() -> None:
    pass


def counted(layer: dict) -> dict[str, int]:
    return {"count": int(layer["count"].replace(",", ""))}


def build():
    """Create a user with a calendar of `SERIES` series."""
    from accounts.models import User
    from calendars import editing
    from calendars.editing import WallTime
    from calendars.models import Calendar

    user = User.objects.create_user("bench", time_zone="Europe/Berlin")
    calendar = Calendar.objects.default_of(user)
    for number in range(SERIES):
        start = SINCE + timedelta(days=number % 28, minutes=15 * (number % 32))
        changes = {
            "subject": f"Series {number}",
            "start": WallTime(start, "Europe/Berlin"),
            "end": WallTime(start + timedelta(minutes=45), "Europe/Berlin"),
            "locations": [{"displayName": f"Room {number % 20}"}],
            "recurrence": {
                "pattern": pattern(number, start),
                "range": {"type": "noEnd", "startDate": start.date().isoformat()},
            },
        }
        editing.create(calendar, changes, NOW)
    return user


def pattern(number: int, start: datetime) -> dict:
    if number < MONTHLY:
        return {"type": "absoluteMonthly", "interval": 1, "dayOfMonth": start.day}
    if number < MONTHLY + WEEKLY:
        return {"type": "weekly", "interval": 1, "daysOfWeek": [f"{start:%A}".lower()]}
    return {"type": "absoluteYearly", "interval": 1, "dayOfMonth": start.day, "month": start.month}


def least(rounds: int, *measured: tuple[Callable[[], object], Callable[[], object]]) -> list[float]:
    """Return the lowest CPU time of the second function of each pair, in milliseconds.

    The pairs take turns in every round.  The first function of a pair is called before the second, and is not measured.
    """
    best = [float("inf")] * len(measured)
    for _ in range(rounds):
        for number, (before, function) in enumerate(measured):
            before()
            began = time.process_time()
            function()
            best[number] = min(best[number], (time.process_time() - began) * 1000)
    return best


if __name__ == "__main__":
    main()
