"""Answers of our own API: each member is declared once, for the OpenAPI description and for rendering.

    class PollSerializer(Answer):
        number = Member(IntegerField, "From 1.", example=1)
        percentComplete = Member(FloatField, "Null: unknown.", "percent", nullable=True, example=40.0)

`PollSerializer.render(source)` returns `{"number": source.number, "percentComplete": source.percent}`.  It is compiled
once: the serializers of the REST framework would need many times as long for a list.
"""

import re
from collections.abc import Callable
from typing import Any, ClassVar, Final

from rest_framework import serializers

CAPITAL = re.compile("[A-Z]")
GIVEN: Final = object()  # the `read` of a member whose value the caller of `render` passes as an argument
NO_EXAMPLE: Final = object()

Render = Callable[[Any, dict[str, Any]], dict[str, Any]]


class Member:
    """A member of an answer.

    `kind` is the class of its field, or the Answer that it contains.
    `read` is the column or the path of attributes of its value, by default its name in snake case; or a function of
    the source; or GIVEN.  What a contained Answer reads is its own source, or with `many` its sources.
    `options` are those of the field.  A member with `required=False` and without `read` may be left out.
    """

    def __init__(
        self,
        kind: type[serializers.Field],
        help_text: str,
        read: object = None,
        *,
        nullable: bool = False,
        example: object = NO_EXAMPLE,
        **options: Any,
    ):
        self.kind = kind
        self.read = read
        self.example = example
        self.options = {**options, "help_text": help_text, **({"allow_null": True} if nullable else {})}

    @property
    def may_be_left_out(self) -> bool:
        return self.read is None and not self.options.get("required", True)

    def field(self) -> serializers.Field:
        return self.kind(**self.options)

    def path(self, name: str) -> str | None:
        """Return the column or the path of attributes that the member `name` reads; None if it reads neither."""
        if self.read is None:
            return CAPITAL.sub(lambda capital: f"_{capital[0].lower()}", name)
        return self.read if isinstance(self.read, str) else None

    def expression(self, name: str, is_row: bool) -> str:
        """Return the expression for the value of the member `name`.  `is_row`: the source is a dict of columns."""
        value = f"read_{name}(source)"
        if path := self.path(name):
            value = f"source[{path!r}]" if is_row else f"source.{path}"
        if not issubclass(self.kind, Answer):
            return value
        if self.options.get("many"):
            return f"[render_{name}(each) for each in {value}]"
        return f"None if (value := {value}) is None else render_{name}(value)"


class Answer(serializers.Serializer):
    # A JSON object that our API answers.  A member such as `from`, a keyword of Python, is declared as `from_`.
    # This is no docstring, because the OpenAPI description would have it for each answer without one.

    members: ClassVar[dict[str, Member]] = {}
    example: ClassVar[dict[str, Any]] = {}
    renderers: ClassVar[dict[tuple[Any, ...], Render]] = {}  # by the kind of the source, and what is given

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        own = {name: member for name, member in vars(cls).items() if isinstance(member, Member)}
        for name in own:
            delattr(cls, name)
        own = {name.removesuffix("_"): member for name, member in own.items()}
        inherited = {name: field for name, field in cls._declared_fields.items() if name not in own}
        cls._declared_fields = inherited | {name: member.field() for name, member in own.items()}
        known = own
        for base in cls.__mro__[1:]:
            known = vars(base).get("members", {}) | known
        cls.members = {name: known[name] for name in cls._declared_fields if name in known}
        cls.example = {name: member.example for name, member in own.items() if member.example is not NO_EXAMPLE}
        cls.renderers = {}

    @classmethod
    def columns(cls) -> list[str]:
        """Return the columns that the members read from a row, without those that functions read."""
        return [path for name, member in cls.members.items() if (path := member.path(name))]

    @classmethod
    def render(cls, source: Any = None, /, **given: Any) -> dict[str, Any]:
        """Return the document of `source`.  Values that are `given` are not read from the source."""
        key: tuple[Any, ...] = (isinstance(source, dict), *given)
        renderer = cls.renderers.get(key)
        if renderer is None:
            renderer = cls.renderers[key] = cls.compile_renderer(*key)
        return renderer(source, given)

    @classmethod
    def compile_renderer(cls, is_row: bool, *given: str) -> Render:
        """Return a function that builds the document in one expression, which is the fastest way.

        Raise TypeError if the given values are not exactly those that must be given, or may be.
        """
        if undeclared := {*given, *cls._declared_fields} - cls.members.keys():
            raise TypeError(f"{cls.__name__} declares no Member {', '.join(sorted(undeclared))}")
        functions: dict[str, Any] = {}
        parts = []
        for name, member in cls.members.items():
            if name in given:
                parts.append(f"{name!r}: given[{name!r}]")
            elif member.read is GIVEN:
                raise TypeError(f"{cls.__name__}.render() needs {name}")
            elif not member.may_be_left_out:
                functions |= {f"read_{name}": member.read, f"render_{name}": getattr(member.kind, "render", None)}
                parts.append(f"{name!r}: {member.expression(name, is_row)}")
        return eval(f"lambda source, given: {{{', '.join(parts)}}}", functions)
