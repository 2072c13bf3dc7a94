"""The tasks of the jobs in `triggers.mint_jobs`.  Each stands for what Apigee's did: it says so, in the log and in the
history of its run, and does nothing else."""

import logging
from collections.abc import Mapping
from typing import Any

from jobs.registry import Task, TaskContext, task
from triggers.mint_jobs import SHIPPED, Shipped

logger = logging.getLogger(__name__)


def stand_in(shipped: Shipped) -> Task:
    def run(arguments: Mapping[str, Any], context: TaskContext) -> str:
        line = f"Stands for {shipped.title!r}, which {shipped.does}."
        logger.info("%s of %s: %s", shipped.job, context.collection, line)
        return line

    return run


for each in SHIPPED:
    task(each.job)(stand_in(each))
