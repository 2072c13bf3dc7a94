"""Housekeeping: the few periodic tasks of the installation itself, which django-celery-beat keeps and shows.

The schedules of users are never among them.
"""

from django import forms
from django.contrib import admin
from django.db import models
from django_celery_beat.admin import PeriodicTaskAdmin
from django_celery_beat.models import PeriodicTask

from accounts.staff import ListingAdmin

admin.site.unregister(PeriodicTask)


@admin.register(PeriodicTask)
class HousekeepingTaskAdmin(ListingAdmin, PeriodicTaskAdmin):
    formfield_overrides = {
        models.DateTimeField: {
            "form_class": forms.DateTimeField,
            "widget": forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        },
        models.TextField: {"widget": forms.Textarea(attrs={"rows": 2})},
    }
