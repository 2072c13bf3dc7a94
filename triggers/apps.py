from django.apps import AppConfig


class TriggersConfig(AppConfig):
    name = "triggers"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from triggers import closed_days, collection_operations, zoned_triggers  # noqa: F401  # register their work
