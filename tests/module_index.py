"""The list of modules in docs/architecture.md: `python -m tests.module_index` writes it from the docstrings.

A test fails while the list differs from the docstrings.
"""

import ast
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
PAGE = BASE_DIR / "docs" / "architecture.md"
HEADING = "## Every module\n"
PACKAGES = (
    *("recurrence", "triggers", "jobs", "calendars", "maintenance", "operations"),
    *("api", "accounts", "scheduler_site"),
)
LEFT_OUT = {"migrations", "formats"}
INTRODUCTION = """
Each line is the beginning of the docstring of a module. `python -m tests.module_index` writes the list.
"""


def modules() -> Iterator[tuple[str, str]]:
    """Yield the path of each module below BASE_DIR, and the first sentence of its docstring, package by package."""
    for package in PACKAGES:
        paths = sorted((BASE_DIR / package).rglob("*.py"), key=lambda path: (path.parent, path.name))
        for path in paths:
            documentation = ast.get_docstring(ast.parse(path.read_text()))
            if documentation and not LEFT_OUT & set(path.parts):
                yield path.relative_to(BASE_DIR).as_posix(), first_sentence(documentation)


def first_sentence(text: str) -> str:
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return paragraph.partition(".  ")[0].removesuffix(".").replace("|", "\\|")


def section() -> str:
    """Return the section with one table for each folder."""
    parts = [HEADING, INTRODUCTION]
    for folder, entries in groupby(modules(), key=lambda entry: entry[0].rpartition("/")[0]):
        rows = [f"| `{path.rpartition('/')[2]}` | {sentence} |" for path, sentence in entries]
        parts.append(f"\n### `{folder}/`\n\n| module | contents |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "".join(parts)


def page() -> str:
    """Return the page with the present list."""
    return PAGE.read_text().partition(HEADING)[0].rstrip() + "\n\n" + section()


if __name__ == "__main__":
    PAGE.write_text(page())
