"""Which jobs maintenance may concern, asked of the database, so that nobody reads what all the others say.

For names the answer is exact, for labels generous: a job that shares a single one is among them.  Which of these it
does concern, `Told.concerns` says.
"""

import json
from collections.abc import Collection

from django.db.models import BooleanField, F, Func, Q, Value

from maintenance.spells import Told


class Shares(Func):
    """Whether a column of JSON has anything in common with a JSON text."""

    output_field = BooleanField()
    sqlite = postgresql = ""  # two places: the column, the text

    def as_sqlite(self, compiler, connection, **context):
        return self.filled(self.sqlite, compiler)

    def as_postgresql(self, compiler, connection, **context):
        return self.filled(self.postgresql, compiler)

    def filled(self, template: str, compiler):
        (column, column_params), (text, text_params) = (compiler.compile(each) for each in self.source_expressions)
        return template.format(column, text), (*column_params, *text_params)


class SharesName(Shares):
    """A list of texts, with a list of texts."""

    sqlite = "EXISTS (SELECT 1 FROM json_each({}) WHERE value IN (SELECT value FROM json_each({})))"
    postgresql = """EXISTS (
        SELECT 1 FROM jsonb_array_elements_text({}) AS own WHERE own IN (SELECT jsonb_array_elements_text({}::jsonb))
    )"""


class SharesLabel(Shares):
    """An object of texts, with a list of pairs."""

    sqlite = """EXISTS (
        SELECT 1 FROM json_each({})
        WHERE (key, value) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each({}))
    )"""
    postgresql = """EXISTS (
        SELECT 1 FROM jsonb_each_text({}) AS own
        WHERE (own.key, own.value) IN (SELECT pair ->> 0, pair ->> 1 FROM jsonb_array_elements({}::jsonb) AS pair)
    )"""


def may_concern(all_told: Collection[Told]) -> Q:
    """The heeds that name one of the affected resources, or a label that one of them has."""
    names = {name for each in all_told for name in each.names}
    pairs = {pair for each in all_told for _, labels in each.affected for pair in labels.items()}
    found = Q(SharesName(F("resource_names"), Value(json.dumps(sorted(names)))))
    return found | Q(SharesLabel(F("labels"), Value(json.dumps(sorted(pairs))))) if pairs else found
