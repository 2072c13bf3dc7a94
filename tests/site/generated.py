"""The client that openapi-python-client generates from our description; documents as objects of its classes."""

import json
import re
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Union
from uuid import UUID

import attrs
import httpx
import openapi_python_client
from openapi_python_client.config import Config, ConfigFile, MetaType

PACKAGE = "generated_quando_client"
Part = tuple[str, str]  # the name of a generated class, and one of its members


class GeneratedClient:
    """A client package that is generated into `folder`."""

    def __init__(self, description: Mapping[str, Any], folder: Path):
        source = folder / "openapi.json"
        source.write_text(json.dumps(description))
        config = Config.from_sources(
            ConfigFile(post_hooks=[]), MetaType.NONE, source, "utf-8", overwrite=False, output_path=folder / PACKAGE
        )
        openapi_python_client.generate(config=config)
        sys.path.insert(0, str(folder))
        self.models = import_module(f"{PACKAGE}.models")
        self._connect = import_module(PACKAGE).AuthenticatedClient
        sys.path.remove(str(folder))

    def connected(self, application, token: str):
        """Return a client of the WSGI application; it needs no server."""
        transport = httpx.WSGITransport(application)
        return self._connect(base_url="http://127.0.0.1", token=token, httpx_args={"transport": transport})

    def call(self, operation: Mapping[str, Any]):
        """Return the generated function for an operation of the description."""
        name = re.sub("(?<=[a-z])(?=[A-Z])", "_", operation["operationId"]).lower()
        return import_module(f"{PACKAGE}.api.{operation['tags'][0].replace('-', '_')}.{name}").sync_detailed

    def hints(self, model: type) -> dict[str, Any]:
        """Return the types of the members of a class."""
        found = typing.get_type_hints(model, localns=vars(self.models))
        return {name: hint for name, hint in found.items() if name != "additional_properties"}

    def body_of(self, call) -> type:
        hint = typing.get_type_hints(call)["body"]
        return next(filter(attrs.has, alternatives(hint)))

    def make(self, model: type, members: Mapping[str, Any], used: set[Part]) -> Any:
        """Call the constructor of the class with these members only; add them to `used`."""
        hints = {plain(name): (name, hint) for name, hint in self.hints(model).items()}
        named, others = {}, {}
        for member, value in members.items():
            if plain(member) in hints:
                name, hint = hints[plain(member)]
                named[name] = self.fit(hint, value, used)
                used.add((model.__name__, plain(member)))
            else:
                others[member] = value
        made = model(**named)
        if others:  # accepted only by classes of objects whose names the caller chooses
            made.additional_properties.update(others)
        return made

    def fit(self, hint: Any, value: Any, used: set[Part]) -> Any:
        """Return the value in the type of the hint of its member."""
        kinds = alternatives(hint)
        models = [kind for kind in kinds if attrs.has(kind)]
        if isinstance(value, dict) and models:
            return self.make(max(models, key=lambda model: self.known(model, value)), value, used)
        for kind in kinds:
            if isinstance(value, list) and typing.get_origin(kind) is list:
                return [self.fit(typing.get_args(kind)[0], each, used) for each in value]
            if isinstance(value, str) and kind in (date, datetime):
                return kind.fromisoformat(value)
            if isinstance(value, str) and kind is UUID:
                return UUID(value)
            if isinstance(value, str) and isinstance(kind, type) and issubclass(kind, Enum):
                return kind(value)
        return value

    def known(self, model: type, members: Mapping[str, Any]) -> int:
        """Return how many of the members the class has."""
        return len({plain(name) for name in self.hints(model)} & {plain(name) for name in members})

    def parts(self, model: type, merged: tuple[str, ...] | None = None) -> Iterator[Part]:
        """Yield what can be sent alone: members of the class, and members of its merged members (None: of all)."""
        for name, hint in self.hints(model).items():
            yield model.__name__, plain(name)
            if merged is None or any(plain(name) == plain(each) for each in merged):
                for kind in alternatives(hint):
                    if attrs.has(kind):
                        yield from self.parts(kind)


def alternatives(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (Union, types.UnionType) else (hint,)


def plain(name: str) -> str:
    """Return the name of a member without case and underscores, which differ in Python."""
    return name.replace("_", "").lower()
