"""/api/jobs/{id}/maintenance: the maintenance policy of a job."""

from datetime import timedelta

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.access import require_role
from accounts.models import Role
from api.answers import Answer, Member
from api.fields import Document, ListField, WordField, read
from api.viewsets import HTTP_410, DescribedView
from jobs import durations
from jobs.api.fields import DurationField
from jobs.models import Job
from maintenance import holds
from maintenance.api.fields import LabelsField, NameField
from maintenance.models import JobMaintenancePolicy, NoticePhase
from maintenance.policies import RESOURCES_MOST, PolicyInput

AFTER = {"runOnce": JobMaintenancePolicy.OnEnd.RUN_ONCE, "drop": JobMaintenancePolicy.OnEnd.DROP}
AFTER_WORDS = {value.value: word for word, value in AFTER.items()}


@extend_schema_serializer(component_name="Heed")  # the name in the published schema
class PolicySerializer(Answer, Document):
    resources = Member(
        ListField,
        "The names of the resources whose maintenance affects the job.",
        "resource_names",
        child=NameField(),
        default=list,
        max_length=RESOURCES_MOST,
        example=["db-2"],
    )
    labels = Member(
        LabelsField,
        "A label selector. Resources that have all of these labels affect the job too.",
        default=dict,
        example={"rack": "r7"},
    )
    during = Member(
        WordField,
        "The policy during maintenance. hold: fire times that are due from the lead time until the end wait.",
        "on_notice",
        choices=JobMaintenancePolicy.OnNotice.values,
        default="nothing",
        example="hold",
    )
    after = Member(
        WordField,
        "The policy for held fire times after maintenance.",
        lambda policy: AFTER_WORDS[policy.on_end],
        choices=["runOnce", "drop"],
        default="runOnce",
        example="runOnce",
    )
    lead = Member(
        DurationField,
        "The lead time: how long before notBefore holding begins, up to one week.",
        lambda policy: durations.render(policy.lead_time),
        default=timedelta(0),
        example="PT5M",
    )
    runOn = Member(
        ListField,
        "The steps of a notice that start a run, each at most once.",
        "run_at_phases",
        child=WordField(NoticePhase.values),
        default=list,
        max_length=len(NoticePhase.values),
        example=["complete"],
    )


class JobPolicyView(DescribedView, APIView):
    """The maintenance policy of a job."""

    @extend_schema(
        operation_id="readJobMaintenance", summary=("Read the maintenance policy of a job"), responses=PolicySerializer
    )
    def get(self, request, pk):
        policy = JobMaintenancePolicy.objects.filter(job=require_role(request, Job, pk=pk)).first()
        return Response(PolicySerializer.render(policy or JobMaintenancePolicy()))

    @extend_schema(
        operation_id="replaceJobMaintenance",
        summary="Set the maintenance policy of a job",
        request=PolicySerializer,
        responses=PolicySerializer,
    )
    def put(self, request, pk):
        job = require_role(request, Job, Role.OPERATOR, pk=pk)
        wanted = read(PolicySerializer, request.data)
        values = PolicyInput(
            resource_names=wanted["resources"],
            labels=wanted["labels"],
            on_notice=wanted["during"],
            on_end=AFTER[wanted["after"]],
            lead_time=wanted["lead"],
            run_at_phases=wanted["runOn"],
        )
        return Response(PolicySerializer.render(holds.set_policy(job, values, timezone.now())))

    @extend_schema(
        operation_id="deleteJobMaintenance",
        summary=("Delete the maintenance policy of a job"),
        responses={204: HTTP_410},
    )
    def delete(self, request, pk):
        holds.clear_policy(require_role(request, Job, Role.OPERATOR, pk=pk), timezone.now())
        return Response(status=204)
