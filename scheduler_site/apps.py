from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class SchedulerSiteConfig(AppConfig):
    name = "scheduler_site"


class QuandoAdminConfig(AdminConfig):
    default_site = "scheduler_site.admin.QuandoAdminSite"
