"""The sources of pages: no inline scripts or styles, no external files, and no style, class or icon without a use."""

import re
from pathlib import Path

import pytest
from django.conf import settings

BASE_DIR = Path(__file__).resolve().parent.parent.parent
TEMPLATES = sorted(path for path in (BASE_DIR / "templates").rglob("*") if path.is_file())
STYLES = sorted((BASE_DIR / "static/css").glob("*.css"))
SCRIPTS = sorted((BASE_DIR / "static/js").rglob("*.js"))
ICONS = BASE_DIR / "templates/parts/icons.svg"
MODULES = [path for package in (*settings.OWN_APPS, "recurrence") for path in (BASE_DIR / package).rglob("*.py")]

# classes that others write: Django's widgets, HTMX and Swagger UI
FOREIGN_CLASSES = {"errorlist", "htmx-swapping", "related-widget-wrapper", "related-widget-wrapper-link"}
FOREIGN_CLASSES |= {"scheme-container", "swagger-ui", "vLargeTextField", "vTextField"}
# classes without a rule that scripts look for
CLASSES_OF_SCRIPTS = {"entry", "set-password", "unset-password"}  # the last two belong to a script of Django
# classes that Django's admin, or a template, makes of the name of a column, a model, or a field
MADE_CLASS = re.compile(r"^(?:column|field|model|of)-")


# values of class attributes, with template tags in them, and strings of scripts and modules
CLASS_VALUE = re.compile(r'class="?((?:{%.*?%}|{{.*?}}|[^"])*)"|{% block (?:body|page)class %}(.*?){% endblock %}')
STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`")


def words_in(texts) -> set[str]:
    return {word for text in texts for word in re.findall(r"[\w-]+", text)}


def words_for_classes() -> set[str]:
    attributes = [value for path in TEMPLATES for match in CLASS_VALUE.findall(path.read_text()) for value in match]
    strings = [value for path in [*SCRIPTS, *MODULES] for value in STRING.findall(path.read_text())]
    return words_in(attributes) | words_in(strings)


def style_rules() -> str:
    return re.sub(r"/\*.*?\*/", "", "".join(path.read_text() for path in STYLES), flags=re.DOTALL)


def classes_with_rules() -> set[str]:
    selectors = re.findall(r"([^{};]+)\{", re.sub(r'"[^"]*"', "", style_rules()))
    return {name for selector in selectors for name in re.findall(r"\.([a-zA-Z][\w-]*)", selector)}


def test_every_class_with_a_rule_is_used():
    words = words_for_classes()
    unused = {name for name in classes_with_rules() - FOREIGN_CLASSES if name not in words}

    assert {name for name in unused if not MADE_CLASS.match(name) or MADE_CLASS.sub("", name) not in words} == set()


def test_every_class_in_a_template_has_a_rule():
    markup = [re.sub(r"{%.*?%}|{{.*?}}", " ", path.read_text()) for path in TEMPLATES]
    classes = {name for text in markup for value in re.findall(r'class="([^"]*)"', text) for name in value.split()}
    literal = {name for name in classes if not name.endswith("-")}  # the others go on with a variable

    assert literal - classes_with_rules() - CLASSES_OF_SCRIPTS == set()


def test_every_icon_is_used():
    names = re.findall(r'id="[im]-([^"]+)"', ICONS.read_text())
    words = {*re.findall(r"#[im]-([\w-]+)", "".join(path.read_text() for path in TEMPLATES if path != ICONS))}
    words |= {word for path in [*TEMPLATES, *MODULES] for word in re.findall(r"[\"']([\w-]+)[\"']", path.read_text())}

    assert len(names) > 30
    assert [name for name in names if name not in words] == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_inline_script_or_style(template):
    text = template.read_text()

    assert not re.search(r"<style\b", text)
    assert not re.search(r"\sstyle\s*=", text)
    assert not re.search(r"\son[a-z]+\s*=\s*[\"']", text)
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)
    assert "javascript:" not in text


@pytest.mark.parametrize("source", [*TEMPLATES, *STYLES], ids=lambda path: path.name)
def test_templates_and_styles_load_no_external_files(source):
    text = source.read_text()

    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)
    assert not re.search(r"url\(\s*[\"']?(?:https?:)?//", text)
    assert not re.search(r"@import[^;]*(?:https?:)?//", text)


def test_the_calendar_page_loads_its_modules_at_once():
    """The browser would otherwise find a module only after it has loaded the one that imports it."""
    static, page = BASE_DIR / "static", (BASE_DIR / "templates/calendar/page.html").read_text()
    modules = sorted(path.relative_to(static).as_posix() for path in (static / "js/calendar").glob("*.js"))

    assert re.findall(r'type="module" src="{% static "([^"]+)" %}"', page) == [*modules, "js/calendar.js"]


def test_responses_have_the_content_security_policy(browser):
    policy = browser.get("/admin/")["Content-Security-Policy"]

    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert "unsafe-inline" not in policy


@pytest.mark.parametrize(
    "model", ["periodictask", "intervalschedule", "crontabschedule", "solarschedule", "clockedschedule"]
)
def test_pages_of_periodic_tasks_follow_the_content_security_policy(browser, model):
    for page in ("", "add/"):
        text = browser.get(f"/admin/django_celery_beat/{model}/{page}").text
        assert "<style" not in text
        assert not re.search(r"<script(?![^>]*\ssrc=)", text)
        assert "Housekeeping" in text
