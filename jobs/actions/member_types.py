"""The types of members that an object in an action's document can have.

`members` declares each member of the document with one of these types.  The declaration has what the parsers, the
OpenAPI description and the form of the administration need.  `Plain` members read their own value; the parser of their
object reads the others.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from typing import Any, NamedTuple, Self

from api.json_object import PRINTABLE, JsonObject
from jobs import durations
from jobs.actions.previous import SHORT_LIMIT, duration, present

NO_AUTHENTICATION = ("None", "NotSpecified")  # types that mean that there is none


@dataclass(frozen=True)
class FormField:
    """The field of the form that shows a member."""

    name: str
    label: str
    help_text: str = ""
    _: KW_ONLY
    choices: Mapping[str, str] = field(default_factory=dict)  # labels by value
    initial: str | None = None
    decides: bool = False  # its value decides which other members count
    only_with: Mapping[str, Sequence[str]] = field(default_factory=dict)  # values of deciding fields, by field name
    rows: int = 0  # 0: one line
    is_code: bool = False
    strip: bool = True
    attributes: Mapping[str, str] = field(default_factory=dict)  # of the text area


@dataclass(frozen=True)
class Member:
    """A member of an object.  `help_text` is in the OpenAPI description; without `form`, the form does not show it."""

    name: str
    _: KW_ONLY
    required: bool = False
    help_text: str = ""
    example: Any = None
    form: FormField | None = None

    def described(self, help_text: str, example: Any = None) -> Self:
        """Return the member with its text and an example of its value for the OpenAPI description."""
        return replace(self, help_text=help_text, example=example)

    def in_form(self, name: str, label: str, help_text: str = "", **options: Any) -> Self:
        """Return the member with a field in the form; the arguments are those of `FormField`."""
        return replace(self, form=FormField(name, label, help_text, **options))


# Members that read their own value


@dataclass(frozen=True)
class Plain(Member):
    def read(self, members: JsonObject) -> Any:
        """Return the value; None if it is absent or refused."""
        raise NotImplementedError


class Pattern(NamedTuple):
    """A pattern for whole texts, and a description of it."""

    regex: re.Pattern[str]
    expected: str


PRINTABLE_TEXT = Pattern(re.compile(PRINTABLE), "printable")


@dataclass(frozen=True)
class Text(Plain):
    limit: int = SHORT_LIMIT
    pattern: Pattern | None = None

    def read(self, members: JsonObject) -> str | None:
        read = members.required_text if self.required else members.text
        return read(self.name, self.limit, *(self.pattern or ()))


@dataclass(frozen=True)
class TaskName(Text):
    """The name of a registered task."""


@dataclass(frozen=True)
class Choice(Plain):
    choices: Sequence[str] = ()
    default: str | None = None  # meaning of an absent member, which is stored as absent

    def read(self, members: JsonObject) -> str | None:
        read = members.required_choice if self.required else members.choice
        return read(self.name, self.choices)


@dataclass(frozen=True)
class Flag(Plain):
    """True or false.  The default is stored as absent; the default None distinguishes false from absent."""

    default: bool | None = False

    def read(self, members: JsonObject) -> bool | None:
        value = members.boolean(self.name)
        return None if value == self.default else value


@dataclass(frozen=True)
class Number(Plain):
    low: int = 0
    high: int = 0

    def read(self, members: JsonObject) -> int | None:
        return members.integer(self.name, self.low, self.high)


@dataclass(frozen=True)
class Duration(Plain):
    """A duration of `least` to `most`; `expected` describes them."""

    least: timedelta
    most: timedelta
    expected: str

    def read(self, members: JsonObject) -> str | None:
        text = duration(members, self.name)
        if text is not None and not self.least <= durations.parse(text) <= self.most:
            members.fault(self.name, f"must be {self.expected}, not {text!r}", "out_of_range")
        return text


@dataclass(frozen=True)
class Instant(Plain):
    def read(self, members: JsonObject) -> str | None:
        """Return the instant in UTC with `Z`; with microseconds only if they are not 0."""
        instant = members.instant(self.name)
        return instant.isoformat().replace("+00:00", "Z") if instant else None


@dataclass(frozen=True)
class Scalar(Plain):
    """A text of at most `limit` characters, a number, true or false."""

    limit: int

    def read(self, members: JsonObject) -> str | int | float | bool | None:
        return members.scalar(self.name, self.limit)


@dataclass(frozen=True)
class Texts(Plain):
    """An object of at most `count` texts of at most `limit` characters.  The caller chooses their names."""

    count: int
    limit: int

    def read(self, members: JsonObject) -> dict[str, str] | None:
        return members.texts(self.name, self.count, SHORT_LIMIT, self.limit)


@dataclass(frozen=True)
class JsonValues(Plain):
    """An object with any members, of at most `limit` characters as JSON."""

    limit: int

    def read(self, members: JsonObject) -> dict[str, Any] | None:
        return members.json_object(self.name, self.limit)


# Members that the parser of their object reads


@dataclass(frozen=True)
class Secret(Member):
    """A text that is stored encrypted and never shown.  A request may leave out a required secret that is stored."""


@dataclass(frozen=True)
class PfxFile(Secret):
    """A PKCS #12 file in base64."""


@dataclass(frozen=True)
class ReadOnly(Member):
    """A member of answers only."""

    is_instant: bool = False


@dataclass(frozen=True)
class Address(Member):
    limit: int


@dataclass(frozen=True)
class Headers(Member):
    pass


@dataclass(frozen=True)
class Names(Member):
    """A list of names whose values in the member `marks` are secret."""

    marks: str
    pattern: Pattern


@dataclass(frozen=True)
class StatusCodes(Member):
    limit: int


# Objects


@dataclass(frozen=True, eq=False)
class ObjectType:
    """An object with its name and its description in the OpenAPI description."""

    name: str
    members: Sequence[Member]
    description: str | None = None

    def __getitem__(self, name: str) -> Any:
        return next(member for member in self.members if member.name == name)

    @property
    def secret_names(self) -> set[str]:
        return {member.name for member in self.members if isinstance(member, Secret)}

    def read(self, members: JsonObject) -> dict[str, Any]:
        """Return the values of the plain members that are present."""
        return present(**{each.name: each.read(members) for each in self.members if isinstance(each, Plain)})


@dataclass(frozen=True)
class Object(Member):
    type: ObjectType


@dataclass(frozen=True)
class OneOf(Member):
    """An object of one of several kinds by its member `type`, or none: without it, or with a type of NO_OBJECT."""

    kinds: dict[str, ObjectType]
    type: Choice


@dataclass(frozen=True)
class ErrorAction(Member):
    """Another action, without an error action of its own."""
