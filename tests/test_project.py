"""Facts about the repository itself."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from scheduler_site.supervisor import parse_procfile
from tests import module_index

BASE_DIR = Path(__file__).resolve().parent.parent
README = (BASE_DIR / "README.md").read_text()
PACKAGES = (*settings.OWN_APPS, "api", "recurrence")
SETS = {"DJANGO_SETTINGS_MODULE", "PATH", "PYTHONUNBUFFERED"}  # variables that the project itself sets
LOCKS = sorted((BASE_DIR / "requirements").glob("*.lock"))


def test_every_environment_variable_is_in_the_readme():
    sources = [path.read_text() for package in PACKAGES for path in (BASE_DIR / package).rglob("*.py")]
    readers = r"os\.environ\.get|os\.environ\.setdefault|listed|number|networks|directives|apps|address"
    read = rf"""(?:{readers})\(\s*"([A-Z_]+)"|os\.environ\["([A-Z_]+)"\]"""
    names = {first or second for source in sources for first, second in re.findall(read, source)}
    names |= set(re.findall(r"\$\{([A-Z_]+)", (BASE_DIR / "Procfile").read_text()))

    rows = [row.split("|")[1] for row in README.splitlines() if row.startswith("|")]
    table = {name for row in rows for name in re.findall("`([A-Z_]+)`", row)}
    assert len(names) > 10
    assert names - SETS - table == set()
    assert table - names == set()


def test_every_package_is_checked_for_environment_variables():
    found = {path.parent.name for path in BASE_DIR.glob("*/__init__.py")}

    assert found - set(PACKAGES) == {"bench", "tests"}


def test_readme_is_short():
    assert len(README.splitlines()) <= 110


def test_links_of_the_readme_and_the_docs_lead_to_existing_files():
    for page in (BASE_DIR / "README.md", *(BASE_DIR / "docs").glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)[^)]*\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


DOCS = sorted((BASE_DIR / "docs").glob("*.md"))
LONG_PAGE = 150  # lines


def headings(page: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)


def anchor(heading: str) -> str:
    """Return the name of a heading in links, as Git hosts generate it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_index_of_the_docs_links_to_every_page():
    linked = re.findall(r"\]\((\w[\w-]*\.md)\)", (BASE_DIR / "docs" / "index.md").read_text())

    assert sorted(linked) == [page.name for page in DOCS if page.name != "index.md"]


def test_links_within_the_docs_lead_to_existing_headings():
    for page in DOCS:
        for name, heading in re.findall(r"\]\(([\w.-]*)#([^)]+)\)", page.read_text()):
            target = page.parent / name if name else page
            assert heading in map(anchor, headings(target.read_text())), f"{page.name}: {name}#{heading}"


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_a_long_page_has_a_table_of_contents(page):
    text = page.read_text()
    sections = re.findall(r"^## (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    contents = re.search(r"^On this page: (.+?)\.\n\n", text, re.DOTALL | re.MULTILINE)

    if len(text.splitlines()) > LONG_PAGE or contents:
        links = re.findall(r"\[([^]]+)\]\(#([^)]+)\)", contents[1])
        assert [" ".join(name.split()) for name, _ in links] == sections
        assert [to for _, to in links] == [anchor(section) for section in sections]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_requirement_is_pinned_with_hashes_and_without_an_address(lock):
    lines = [line for line in lock.read_text().splitlines() if line and not line.lstrip().startswith("#")]
    requirements = [line for line in lines if not line.startswith(" ")]

    assert len(requirements) > 20
    for line in requirements:
        assert re.fullmatch(r"[a-z0-9._-]+==[^ ]+ (; .+ )?\\", line), line
    for line in set(lines) - set(requirements):
        assert re.fullmatch(r" +--hash=sha256:[0-9a-f]{64}( \\)?", line), line
    assert "://" not in lock.read_text()


def test_every_package_of_node_is_pinned_with_a_hash_and_without_an_address():
    lock = (BASE_DIR / "tests" / "peers" / "package-lock.json").read_text()
    packages = json.loads(lock)["packages"]

    del packages[""]  # the project itself
    assert "node_modules/azurite" in packages
    assert [name for name, package in packages.items() if not package["integrity"].startswith("sha512-")] == []
    assert "://" not in lock


def test_pinned_versions_of_the_product_are_used_in_development():
    base, dev = (set(re.findall(r"^([a-z0-9._-]+==\S+)", path.read_text(), re.MULTILINE)) for path in LOCKS)

    assert base - dev == set()


def test_make_without_a_target_lists_every_target():
    listed = subprocess.run(["make"], cwd=BASE_DIR, capture_output=True, text=True, check=True).stdout

    phony = re.search(r"^\.PHONY: (.+)$", (BASE_DIR / "Makefile").read_text(), re.MULTILINE)[1]
    assert re.findall(r"^make ([\w-]+)", listed, re.MULTILINE) == phony.split()


def test_procfile_has_the_processes_of_an_installation():
    commands = parse_procfile((BASE_DIR / "Procfile").read_text())

    assert list(commands) == ["broker", "web", "worker", "beat"]


def test_commands_in_the_docs_equal_those_of_the_procfile():
    procfile = (BASE_DIR / "Procfile").read_text().splitlines()
    commands = [line for line in procfile if not line.startswith("broker:")]  # only `make run` starts the broker

    block = re.search(r"```sh\n(web: .*?)\n```", (BASE_DIR / "docs" / "operating.md").read_text(), re.DOTALL)[1]
    assert block.splitlines() == commands
    pages = [README, *(page.read_text() for page in (BASE_DIR / "docs").glob("*.md"))]
    programs = [
        line
        for page in pages
        for line in page.partition(module_index.HEADING)[0].splitlines()
        if re.search(r"granian|celery.*(worker|beat)\b", line)
    ]
    assert [line for line in programs if line not in commands] == []


def test_the_list_of_modules_is_current():
    assert module_index.page() == module_index.PAGE.read_text(), "run python -m tests.module_index"
