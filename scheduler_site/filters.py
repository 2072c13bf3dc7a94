"""What a list may be asked for: the filters it names and the paging parameters, nothing else."""

from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.exceptions import ValidationError

from scheduler_site.parsers import shown

PAGING = {"limit", "cursor"}


class ClosedFilterBackend(DjangoFilterBackend):
    """Refuses parameters that the list does not know and those given twice: a slip is not to look like an answer."""

    def filter_queryset(self, request, queryset, view):
        filterset_class = self.get_filterset_class(view, queryset)
        known = PAGING | set(filterset_class.base_filters if filterset_class else ())
        for name, values in request.query_params.lists():
            if name not in known:
                raise ValidationError({shown(name): [f"not known here; take {', '.join(sorted(known))}"]}, "unknown")
            if len(values) > 1:
                raise ValidationError({name: ["given more than once"]}, "duplicate")
        return super().filter_queryset(request, queryset, view)
