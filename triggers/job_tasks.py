"""The tasks of the jobs in `triggers.mint.jobs`.

Each is a placeholder for Apigee's task.  It says so in the log and in the history of its run, and does nothing else.
"""

import logging
from collections.abc import Mapping
from typing import Any

from jobs.registry import Task, TaskContext, task
from triggers.mint.jobs import SHIPPED, MintJob

logger = logging.getLogger(__name__)


def placeholder(shipped: MintJob) -> Task:
    def run(arguments: Mapping[str, Any], context: TaskContext) -> str:
        line = f"Stands for {shipped.title!r}, which {shipped.description}."
        logger.info("%s of %s: %s", shipped.job, context.collection, line)
        return line

    return run


for each in SHIPPED:
    task(each.job)(placeholder(each))
