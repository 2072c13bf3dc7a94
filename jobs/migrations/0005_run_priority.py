from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0004_certificate_expiries'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='priority',
            field=models.SmallIntegerField(default=5),
        ),
    ]
