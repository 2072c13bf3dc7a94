"""The input of a job's maintenance policy, and its validation.  The API and the form both use it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from api.json_object import UNSTORABLE
from maintenance.errors import MaintenanceError
from maintenance.models import JobMaintenancePolicy, NoticePhase

RESOURCES_MOST, LABELS_MOST = 1_000, 50
TEXT_LENGTH = 255
LEAD_MOST = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class PolicyInput:
    """The values of a job's maintenance policy, validated.

    Raises MaintenanceError if a value is not allowed.  The paths of the error are the members of the API.
    """

    resource_names: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)  # matches a resource that has all of these
    on_notice: str = JobMaintenancePolicy.OnNotice.NOTHING
    on_end: str = JobMaintenancePolicy.OnEnd.RUN_ONCE
    lead_time: timedelta = timedelta(0)
    run_at_phases: Sequence[str] = ()  # values of NoticePhase

    def __post_init__(self) -> None:
        if len(self.resource_names) > RESOURCES_MOST:
            raise MaintenanceError(f"may be {RESOURCES_MOST} at most", path="resources", code="out_of_range")
        for position, name in enumerate(self.resource_names):
            check_text(name, f"resources[{position}]", least=1)
        if len(self.labels) > LABELS_MOST:
            raise MaintenanceError(f"may be {LABELS_MOST} at most", path="labels", code="out_of_range")
        for name, text in self.labels.items():
            check_text(name, "labels", least=1)
            check_text(text, "labels")
        _check_word(self.on_notice, JobMaintenancePolicy.OnNotice.values, "during")
        _check_word(self.on_end, JobMaintenancePolicy.OnEnd.values, "after")
        for position, phase in enumerate(self.run_at_phases):
            _check_word(phase, NoticePhase.values, f"runOn[{position}]")
        if not timedelta(0) <= self.lead_time <= LEAD_MOST:
            raise MaintenanceError("must be PT0S to P7D", path="lead", code="out_of_range")
        if (self.on_notice != JobMaintenancePolicy.OnNotice.NOTHING or self.run_at_phases) and not (
            self.resource_names or self.labels
        ):
            raise MaintenanceError("must name resources, or labels of them", path="resources", code="required")

    def fields(self) -> dict[str, object]:
        """Return the values for the fields of the stored policy: each name once, phases in the order of NoticePhase."""
        return {
            "resource_names": list(dict.fromkeys(self.resource_names)),
            "labels": dict(self.labels),
            "on_notice": self.on_notice,
            "on_end": self.on_end,
            "lead_time": self.lead_time,
            "run_at_phases": [phase for phase in NoticePhase.values if phase in self.run_at_phases],
        }


def check_text(text: object, path: str, *, least: int = 0, most: int = TEXT_LENGTH) -> None:
    """Raise MaintenanceError unless `text` is a text that the database can store and every page can show.

    The length must be `least` to `most` characters, both included.
    """
    if not isinstance(text, str):
        raise MaintenanceError(f"must be a text, not {str(text)[:80]!r}", path=path)
    if not least <= len(text) <= most:
        raise MaintenanceError(f"must have {least} to {most} characters", path=path, code="out_of_range")
    if UNSTORABLE.search(text):
        raise MaintenanceError("must not have NUL or half characters", path=path)


def _check_word(word: object, words: Sequence[str], path: str) -> None:
    if word not in words:
        message = f"must be one of {', '.join(words)}, not {str(word)[:80]!r}"
        raise MaintenanceError(message, path=path, code="unknown_value")
