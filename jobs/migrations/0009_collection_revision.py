from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0008_following"),
    ]

    operations = [
        migrations.AddField(
            model_name="jobcollection",
            name="revision",
            field=models.PositiveIntegerField(default=1, editable=False),
        ),
    ]
