"""Housekeeping: the few periodic tasks of the installation itself, which django-celery-beat stores and shows.

The schedules of users are never among these tasks.
"""

from datetime import datetime

from django import forms
from django.contrib import admin
from django.db import models
from django_celery_beat.admin import PeriodicTaskAdmin
from django_celery_beat.models import PeriodicTask

from accounts.admin_permissions import ListingAdmin

admin.site.unregister(PeriodicTask)


@admin.register(PeriodicTask)
class HousekeepingTaskAdmin(ListingAdmin, PeriodicTaskAdmin):
    list_display = ("name", "enabled", "schedule", "last_run")
    list_filter = ("enabled", "one_off", "task")
    formfield_overrides = {
        models.DateTimeField: {
            "form_class": forms.DateTimeField,
            "widget": forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        },
        models.TextField: {"widget": forms.Textarea(attrs={"rows": 2})},
    }

    @admin.display(description="Schedule")
    def schedule(self, task: PeriodicTask) -> str:
        return str(task.scheduler)

    @admin.display(description="Last run", ordering="last_run_at", empty_value="never")
    def last_run(self, task: PeriodicTask) -> datetime | None:
        return task.last_run_at
