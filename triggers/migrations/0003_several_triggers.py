import django.core.validators
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0005_run_priority'),
        ('triggers', '0002_housekeeping'),
    ]

    operations = [
        migrations.RenameField('trigger', 'queue', 'group'),
        migrations.RemoveIndex('trigger', 'trigger_due'),
        migrations.AddField('trigger', 'enabled', models.BooleanField(default=True)),
        migrations.AddField(
            'trigger',
            'priority',
            models.SmallIntegerField(default=5, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(32767)]),
        ),
        migrations.AddField('trigger', 'data_map', models.JSONField(blank=True, default=dict)),
        migrations.AddField('trigger', 'lock_key', models.CharField(editable=False, max_length=200, null=True)),
        migrations.AddField(
            'trigger',
            'created_at',
            models.DateTimeField(auto_now_add=True, default=django.utils.timezone.now),
            preserve_default=False,
        ),
        migrations.AddField(
            'trigger',
            'updated_at',
            models.DateTimeField(auto_now=True, default=django.utils.timezone.now),
            preserve_default=False,
        ),
        migrations.AlterField(
            'trigger',
            'group',
            models.CharField(default='default', max_length=100, validators=[django.core.validators.RegexValidator('\\A[A-Za-z0-9_][A-Za-z0-9_.-]*\\Z', 'take letters, digits, underscores, dots and hyphens', 'invalid')]),
        ),
        migrations.AlterField(
            'trigger',
            'name',
            models.CharField(default='default', max_length=100, validators=[django.core.validators.RegexValidator('\\A[A-Za-z0-9_][A-Za-z0-9_.@-]*\\Z', 'take letters, digits, underscores, dots, hyphens and @', 'invalid')]),
        ),
        migrations.AddIndex(
            'trigger',
            models.Index(condition=models.Q(('next_fire_at__isnull', False)), fields=['next_fire_at', 'priority', 'id'], name='trigger_due'),
        ),
    ]
