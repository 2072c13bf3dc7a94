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
    varying = [field for field in model._meta.concrete_fields if field.column in columns]
    alike = [field for field in model._meta.concrete_fields if field.column not in columns]
    values = [prepared(field, columns[field.column]) for field in varying]
    fixed = [
        field.get_db_prep_save(constants[field.name] if field.name in constants else field.get_default(), connection)
        for field in alike
    ]
    names = ", ".join(field.column for field in (*varying, *alike))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            marks = ", ".join(f"%s::{field.db_type(connection)}" for field in alike)
            cursor.execute(
                f"INSERT INTO {model._meta.db_table} ({names}) SELECT row.*, {marks} FROM {unnested(varying)} AS row"
                " ON CONFLICT DO NOTHING",
                [*fixed, *values],
            )
        else:
            marks = ", ".join(["%s"] * len(model._meta.concrete_fields))
            cursor.executemany(
                f"INSERT INTO {model._meta.db_table} ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING",
                [(*row, *fixed) for row in zip(*values, strict=True)],
            )


def update(model: type[models.Model], ids: Sequence[Any], columns: Mapping[str, Sequence[Any]]) -> None:
    """Set the columns of the rows with these ids."""
    fields = [field for field in model._meta.concrete_fields if field.column in columns]
    values = [prepared(field, columns[field.column]) for field in fields]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            key = model._meta.pk
            changes = ", ".join(f"{field.column} = row.{field.column}" for field in fields)
            names = ", ".join(field.column for field in (*fields, key))
            cursor.execute(
                f"UPDATE {model._meta.db_table} SET {changes} FROM {unnested([*fields, key])} AS row ({names})"
                f" WHERE {model._meta.db_table}.{key.column} = row.{key.column}",
                [*values, list(ids)],
            )
        else:
            changes = ", ".join(f"{field.column} = %s" for field in fields)
            cursor.executemany(
                f"UPDATE {model._meta.db_table} SET {changes} WHERE {model._meta.pk.column} = %s",
                list(zip(*values, ids, strict=True)),
            )


def prepared(field: models.Field, values: Sequence[Any]) -> list[Any]:
    return [field.get_db_prep_save(value, connection) for value in values]


def unnested(fields: Sequence[models.Field]) -> str:
    """PostgreSQL's table of the arrays given as parameters, one a field."""
    return f"unnest({', '.join(f'%s::{field.db_type(connection)}[]' for field in fields)})"
