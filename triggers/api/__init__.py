"""REST resources of schedules: triggers, and the preview and translation of schedules that are not saved."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from triggers.api.preview import SchedulePreview
from triggers.api.translate import ScheduleTranslation
from triggers.api.triggers import Triggers

router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("triggers", Triggers, basename="trigger")

urlpatterns = [
    path("", include(router.urls)),
    path("schedules/preview", SchedulePreview.as_view(), name="schedule-preview"),
    path("schedules/translate", ScheduleTranslation.as_view(), name="schedule-translation"),
]
