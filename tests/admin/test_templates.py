"""The content policy, checked in the sources: no inline script or style, nothing from elsewhere."""

import re
from pathlib import Path

import pytest

BASE_DIR = Path(__file__).resolve().parent.parent.parent
TEMPLATES = sorted(path for path in (BASE_DIR / "templates").rglob("*") if path.is_file())
STYLES = sorted((BASE_DIR / "static/css").glob("*.css"))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_inline_script_or_style(template):
    text = template.read_text()

    assert not re.search(r"<style\b", text)
    assert not re.search(r"\sstyle\s*=", text)
    assert not re.search(r"\son[a-z]+\s*=\s*[\"']", text)
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)
    assert "javascript:" not in text


@pytest.mark.parametrize("source", [*TEMPLATES, *STYLES], ids=lambda path: path.name)
def test_nothing_is_loaded_from_elsewhere(source):
    text = source.read_text()

    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)
    assert not re.search(r"url\(\s*[\"']?(?:https?:)?//", text)
    assert not re.search(r"@import[^;]*(?:https?:)?//", text)


def test_every_answer_carries_the_policy(browser):
    policy = browser.get("/admin/")["Content-Security-Policy"]

    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert "unsafe-inline" not in policy


@pytest.mark.parametrize(
    "model", ["periodictask", "intervalschedule", "crontabschedule", "solarschedule", "clockedschedule"]
)
def test_housekeeping_stays_within_the_policy(browser, model):
    for page in ("", "add/"):
        text = browser.get(f"/admin/django_celery_beat/{model}/{page}").text
        assert "<style" not in text
        assert not re.search(r"<script(?![^>]*\ssrc=)", text)
        assert "Housekeeping" in text
