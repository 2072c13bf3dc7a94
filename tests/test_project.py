"""Facts about the repository itself."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from scheduler_site.supervisor import parse_procfile

BASE_DIR = Path(__file__).resolve().parent.parent
README = (BASE_DIR / "README.md").read_text()
PACKAGES = ("accounts", "jobs", "recurrence", "scheduler_site", "triggers")
SETS = {"DJANGO_SETTINGS_MODULE", "PATH", "PYTHONUNBUFFERED"}  # what the project sets for itself
LOCKS = sorted((BASE_DIR / "requirements").glob("*.lock"))


def test_every_environment_variable_is_in_the_readme():
    sources = [path.read_text() for package in PACKAGES for path in (BASE_DIR / package).rglob("*.py")]
    readers = r"environ\.get|environ\.setdefault|listed|number|networks|apps|address"
    read = rf"""(?:{readers})\(\s*"([A-Z_]+)"|environ\["([A-Z_]+)"\]"""
    names = {first or second for source in sources for first, second in re.findall(read, source)}
    names |= set(re.findall(r"\$\{([A-Z_]+)", (BASE_DIR / "Procfile").read_text()))

    rows = [row.split("|")[1] for row in README.splitlines() if row.startswith("|")]
    table = {name for row in rows for name in re.findall("`([A-Z_]+)`", row)}
    assert len(names) > 10
    assert names - SETS - table == set()
    assert table - names == set()


def test_the_readme_fits_on_two_screens():
    assert len(README.splitlines()) <= 110


def test_the_readme_and_the_docs_point_at_files_that_exist():
    for page in (BASE_DIR / "README.md", *(BASE_DIR / "docs").glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)[^)]*\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


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


def test_what_is_run_is_what_is_tested():
    base, dev = (set(re.findall(r"^([a-z0-9._-]+==\S+)", path.read_text(), re.MULTILINE)) for path in LOCKS)

    assert base - dev == set()


def test_make_alone_lists_every_target():
    listed = subprocess.run(["make"], cwd=BASE_DIR, capture_output=True, text=True, check=True).stdout

    phony = re.search(r"^\.PHONY: (.+)$", (BASE_DIR / "Makefile").read_text(), re.MULTILINE)[1]
    assert re.findall(r"^make (\w+)", listed, re.MULTILINE) == phony.split()


def test_the_procfile_names_the_parts_of_an_installation():
    commands = parse_procfile((BASE_DIR / "Procfile").read_text())

    assert list(commands) == ["broker", "web", "worker", "beat"]
