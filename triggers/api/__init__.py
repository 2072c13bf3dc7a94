"""REST resources of schedules: triggers, closed days, clock changes, and schedules that are not saved."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from triggers.api.clock_changes import ClockChanges
from triggers.api.closed_days import ClosedDaysViews
from triggers.api.compare import ScheduleComparison
from triggers.api.preview import SchedulePreview
from triggers.api.translate import ScheduleTranslation
from triggers.api.triggers import Triggers

router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("triggers", Triggers, basename="trigger")
router.register("closed-days", ClosedDaysViews, basename="closed-days")

urlpatterns = [
    path("", include(router.urls)),
    path("schedules/preview", SchedulePreview.as_view(), name="schedule-preview"),
    path("clock-changes", ClockChanges.as_view(), name="clock-changes"),
    path("schedules/compare", ScheduleComparison.as_view(), name="schedule-comparison"),
    path("schedules/translate", ScheduleTranslation.as_view(), name="schedule-translation"),
]
