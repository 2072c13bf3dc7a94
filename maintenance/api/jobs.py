"""/api/jobs/{id}/maintenance"""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.access import require
from accounts.fields import WordField, read
from accounts.models import Role
from accounts.viewsets import GONE
from jobs.api.fields import DurationField
from jobs.models import Job
from maintenance import heeding
from maintenance.api.fields import LabelsField, NameField
from maintenance.models import Heed, Step
from maintenance.wishes import RESOURCES_MOST, Wish


class HeedSerializer(serializers.Serializer):
    resources = serializers.ListField(
        child=NameField(),
        default=list,
        max_length=RESOURCES_MOST,
        help_text="Names of resources whose maintenance concerns the job.",
    )
    labels = LabelsField(default=dict, help_text="Also every resource that has all of these.")
    during = WordField(
        Heed.During.values, default="nothing", help_text="hold: what is due from the lead time until the end waits."
    )
    after = WordField(["runOnce", "drop"], default="runOnce", help_text="What becomes of what was held.")
    lead = DurationField(default=timedelta(0), help_text="How long before not-before holding begins, up to a week.")
    runOn = serializers.ListField(
        child=WordField(Step.values),
        default=list,
        max_length=len(Step.values),
        help_text="The steps of a notice that order a run, each once.",
    )


AFTER = {"runOnce": Heed.After.RUN_ONCE, "drop": Heed.After.DROP}
AFTER_WORDS = {value.value: word for word, value in AFTER.items()}


class HeedOfJob(APIView):
    """What a job does about maintenance."""

    @extend_schema(operation_id="readJobMaintenance", summary="Read what a job does", responses=HeedSerializer)
    def get(self, request, pk):
        heed = Heed.objects.filter(job=require(request, Job, pk=pk)).first()
        return Response(rendered_heed(heed or Heed()))

    @extend_schema(
        operation_id="replaceJobMaintenance",
        summary="Say what a job does about maintenance",
        request=HeedSerializer,
        responses=HeedSerializer,
    )
    def put(self, request, pk):
        job = require(request, Job, Role.OPERATOR, pk=pk)
        wanted = read(HeedSerializer, request.data)
        wish = Wish(
            resource_names=wanted["resources"],
            labels=wanted["labels"],
            during=wanted["during"],
            after=AFTER[wanted["after"]],
            lead=wanted["lead"],
            run_on=wanted["runOn"],
        )
        return Response(rendered_heed(heeding.heed(job, wish, timezone.now())))

    @extend_schema(operation_id="deleteJobMaintenance", summary="Let a job do nothing", responses={204: GONE})
    def delete(self, request, pk):
        heeding.ignore(require(request, Job, Role.OPERATOR, pk=pk), timezone.now())
        return Response(status=204)


def rendered_heed(heed: Heed) -> dict[str, Any]:
    return {
        "resources": heed.resource_names,
        "labels": heed.labels,
        "during": heed.during,
        "after": AFTER_WORDS[heed.after],
        "lead": DurationField().to_representation(heed.lead),
        "runOn": heed.run_on,
    }
