from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0011_mask_keys_in_history"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["-fire_at", "-id"], name="run_newest"),
        ),
        migrations.CreateModel(
            name="HousekeepingLease",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True)),
                ("token", models.UUIDField(null=True)),
                ("leased_until", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="PruningProgress",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("runs_until", models.DateTimeField(null=True)),
                ("runs_kept", models.PositiveIntegerField(null=True)),
                ("actions_until", models.BigIntegerField(default=0)),
            ],
        ),
    ]
