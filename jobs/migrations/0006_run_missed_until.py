from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0005_run_priority'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('missed_until__isnull', False)), fields=['missed_until'], name='run_missed_until'),
        ),
    ]
