"""Registry of the callables of this installation that jobs may run, by name.

An installation registers its own in the module `job_tasks` of any of its apps (EXTRA_APPS).  It is imported at startup:

    from jobs.registry import task

    @task("reports.refresh")
    def refresh(arguments, context):
        return f"{len(arguments['reports'])} reports refreshed"

A job contains the name of a registered callable.  Callers can never name a path to import.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

MODULE = "job_tasks"
NAME_LIMIT = 100  # characters
NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{NAME_LIMIT - 1}}}")


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The attempt and the run that a task is called for."""

    run_id: UUID  # the same for all attempts of a run
    attempt: int  # from 1
    fire_at: datetime  # when it was meant to run
    job: str
    collection: str


Task = Callable[[Mapping[str, Any], TaskContext], str | None]

_tasks: dict[str, Task] = {}


def task(name: str) -> Callable[[Task], Task]:
    """Register the decorated function.

    It is called with a job's arguments and a `TaskContext`, and returns a line for the history, or None.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"a task's name has letters, digits, underscores, dots and hyphens, unlike {name!r}")

    def register(function: Task) -> Task:
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"task {name!r} runs in a thread: it must not be a coroutine function")
        if _tasks.setdefault(name, function) is not function:
            raise ValueError(f"there are two tasks of the name {name!r}")
        return function

    return register


def names() -> list[str]:
    return sorted(_tasks)


def find(name: str) -> Task | None:
    return _tasks.get(name)
