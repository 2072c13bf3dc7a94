from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0002_credentials'),
    ]

    operations = [
        migrations.AddField(
            model_name='action',
            name='certificate_expires_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name='action',
            index=models.Index(condition=models.Q(('certificate_expires_at__isnull', False)), fields=['certificate_expires_at'], name='action_certificate'),
        ),
    ]
