"""Write many rows by column, in one statement.

The ORM makes an object of every row and a parameter of every value; where thousands are written in a second, most of
the time would go into them.  Here PostgreSQL gets one array a column, and SQLite one list of rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, models


def insert(model: type[models.Model], columns: Mapping[str, Sequence[Any]], **constants: Any) -> None:
    """Insert rows, except those that a unique constraint refuses.

    `columns` holds the fields in which rows differ, by their column's name, `constants` those in which they are alike;
    every other field has its default.
    """
    fields = by_column(model)
    alike = {column: field for column, field in fields.items() if column not in columns}
    values = [prepared(fields[column], given) for column, given in columns.items()]
    fixed = [
        field.get_db_prep_save(constants[field.name] if field.name in constants else field.get_default(), connection)
        for field in alike.values()
    ]
    names = ", ".join((*columns, *alike))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            marks = ", ".join(f"%s::{field.db_type(connection)}" for field in alike.values())
            rows = unnested([fields[column] for column in columns])
            cursor.execute(
                f"INSERT INTO {model._meta.db_table} ({names}) SELECT row.*, {marks} FROM {rows} AS row"
                " ON CONFLICT DO NOTHING",
                [*fixed, *values],
            )
        else:
            marks = ", ".join(["%s"] * len(fields))
            cursor.executemany(
                f"INSERT INTO {model._meta.db_table} ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING",
                [(*row, *fixed) for row in zip(*values, strict=True)],
            )


def update(model: type[models.Model], ids: Sequence[Any], columns: Mapping[str, Sequence[Any]]) -> None:
    """Set the columns of the rows with these ids."""
    fields = by_column(model)
    values = [prepared(fields[column], given) for column, given in columns.items()]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            key = model._meta.pk
            changes = ", ".join(f"{column} = row.{column}" for column in columns)
            names = f"{', '.join(columns)}, {key.column}"
            rows = unnested([*(fields[column] for column in columns), key])
            cursor.execute(
                f"UPDATE {model._meta.db_table} SET {changes} FROM {rows} AS row ({names})"
                f" WHERE {model._meta.db_table}.{key.column} = row.{key.column}",
                [*values, list(ids)],
            )
        else:
            changes = ", ".join(f"{column} = %s" for column in columns)
            cursor.executemany(
                f"UPDATE {model._meta.db_table} SET {changes} WHERE {model._meta.pk.column} = %s",
                list(zip(*values, prepared(model._meta.pk, ids), strict=True)),
            )


def by_column(model: type[models.Model]) -> dict[str, models.Field]:
    return {field.column: field for field in model._meta.fields if field.column is not None}


def prepared(field: models.Field, values: Sequence[Any]) -> list[Any]:
    return [field.get_db_prep_save(value, connection) for value in values]


def unnested(fields: Sequence[models.Field]) -> str:
    """PostgreSQL's table of the arrays given as parameters, one a field."""
    return f"unnest({', '.join(f'%s::{field.db_type(connection)}[]' for field in fields)})"
