"""Database filters for job policies that a notice may match, so that the other policies need not be read.

The filters are exact for resource names.  For labels they return a superset: every policy that shares at least one
label.  `NoticeWithResources.matches` narrows it.
"""

import json
from collections.abc import Collection

from django.db.models import BooleanField, F, Func, Q, Value

from maintenance.hold_windows import NoticeWithResources


class JsonOverlap(Func):
    """True if a JSON column and a JSON text have at least one element in common."""

    output_field = BooleanField()
    sqlite = postgresql = ""  # templates with two placeholders: the column, the text

    def as_sqlite(self, compiler, connection, **context):
        return self._fill(self.sqlite, compiler)

    def as_postgresql(self, compiler, connection, **context):
        return self._fill(self.postgresql, compiler)

    def _fill(self, template: str, compiler):
        (column, column_params), (text, text_params) = (compiler.compile(each) for each in self.source_expressions)
        return template.format(column, text), (*column_params, *text_params)


class SharesName(JsonOverlap):
    """Compare a column that is a list of texts with a list of texts."""

    sqlite = "EXISTS (SELECT 1 FROM json_each({}) WHERE value IN (SELECT value FROM json_each({})))"
    postgresql = """EXISTS (
        SELECT 1 FROM jsonb_array_elements_text({}) AS own WHERE own IN (SELECT jsonb_array_elements_text({}::jsonb))
    )"""


class SharesLabel(JsonOverlap):
    """Compare a column that is an object of texts with a list of pairs of name and text."""

    sqlite = """EXISTS (
        SELECT 1 FROM json_each({})
        WHERE (key, value) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each({}))
    )"""
    postgresql = """EXISTS (
        SELECT 1 FROM jsonb_each_text({}) AS own
        WHERE (own.key, own.value) IN (SELECT pair ->> 0, pair ->> 1 FROM jsonb_array_elements({}::jsonb) AS pair)
    )"""


def matching_q(notices: Collection[NoticeWithResources]) -> Q:
    """Filter for policies that name one of the affected resources, or a label that one of these resources has."""
    names = {name for each in notices for name in each.names}
    pairs = {pair for each in notices for _, labels in each.affected_resources for pair in labels.items()}
    by_name = may_name(names)
    return by_name | Q(SharesLabel(F("labels"), Value(json.dumps(sorted(pairs))))) if pairs else by_name


def may_name(names: Collection[str]) -> Q:
    """Filter for policies that name one of these resources."""
    return Q(SharesName(F("resource_names"), Value(json.dumps(sorted(names)))))
