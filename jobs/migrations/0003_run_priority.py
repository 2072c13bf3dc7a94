from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0002_credentials'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='priority',
            field=models.SmallIntegerField(default=5),
        ),
    ]
