from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules

from jobs import registry


class JobsConfig(AppConfig):
    name = "jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from jobs import checks  # noqa: F401  # registers the checks

        autodiscover_modules(registry.MODULE)
