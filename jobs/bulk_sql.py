"""Write many rows by column, in one statement.

The ORM creates an object for each row and a parameter for each value.  With thousands of rows a second, most of the
time would be spent on these.  Here PostgreSQL gets one array for each column, and SQLite one list of rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, models


def insert(model: type[models.Model], columns: Mapping[str, Sequence[Any]], **constants: Any) -> None:
    """Insert rows, except rows that a unique constraint refuses.

    `columns` holds the fields whose values differ between rows, by column name.  `constants` holds the fields with the
    same value in all rows.  Every other field has its default.
    """
    fields = by_column(model)
    constant_fields = {column: field for column, field in fields.items() if column not in columns}
    values = [prepared(fields[column], column_values) for column, column_values in columns.items()]
    constant_values = [
        field.get_db_prep_save(constants[field.name] if field.name in constants else field.get_default(), connection)
        for field in constant_fields.values()
    ]
    names = ", ".join((*columns, *constant_fields))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            placeholders = ", ".join(f"%s::{field.db_type(connection)}" for field in constant_fields.values())
            rows = unnested([fields[column] for column in columns])
            cursor.execute(
                f"INSERT INTO {model._meta.db_table} ({names}) SELECT row.*, {placeholders} FROM {rows} AS row"
                " ON CONFLICT DO NOTHING",
                [*constant_values, *values],
            )
        else:
            placeholders = ", ".join(["%s"] * len(fields))
            cursor.executemany(
                f"INSERT INTO {model._meta.db_table} ({names}) VALUES ({placeholders}) ON CONFLICT DO NOTHING",
                [(*row, *constant_values) for row in zip(*values, strict=True)],
            )


def update(model: type[models.Model], ids: Sequence[Any], columns: Mapping[str, Sequence[Any]]) -> None:
    """Set the columns of the rows with these ids."""
    fields = by_column(model)
    values = [prepared(fields[column], column_values) for column, column_values in columns.items()]
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
    """Return the SQL of a PostgreSQL table made of array parameters, one for each field."""
    return f"unnest({', '.join(f'%s::{field.db_type(connection)}[]' for field in fields)})"
