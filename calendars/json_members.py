"""A database expression for a JSON object without some of its members."""

from collections.abc import Iterable

from django.db.models import Func, JSONField


class WithoutMembers(Func):
    """The JSON object of a field without the members with these names, which must be identifiers."""

    arity = 1
    output_field = JSONField()

    def __init__(self, expression, names: Iterable[str] = (), **options):
        self.names = tuple(names)
        assert all(map(str.isidentifier, self.names))
        super().__init__(expression, **options)

    def as_sqlite(self, compiler, connection, **context):
        paths = ", ".join(f"'$.{name}'" for name in self.names)
        return self.as_sql(compiler, connection, template=f"JSON_REMOVE(%(expressions)s, {paths})", **context)

    def as_postgresql(self, compiler, connection, **context):
        names = ", ".join(f"'{name}'" for name in self.names)
        return self.as_sql(compiler, connection, template=f"(%(expressions)s - ARRAY[{names}])", **context)
