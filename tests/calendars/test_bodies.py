"""Bodies of events as HTML and as plain text."""

import pytest

from calendars.body_text import complete_body, convert_body, html_of, preview_of, text_of
from calendars.models import Details
from calendars.validation import BODY_LENGTH
from tests.growth import assert_linear

TEXT = {"body_type": "text", "body": ""}


@pytest.mark.parametrize(
    "html, text",
    [
        ("", ""),
        ("Hi", "Hi"),
        ("<p>Hi</p><p>there</p>", "Hi\nthere"),
        ("a<br>b<BR/>c", "a\nb\nc"),
        ("<html><head><title>t</title></head><body>b</body></html>", "b"),
        ("<style>p {}</style><script>x < 1</script>seen", "seen"),
        ("<!-- not this -->this", "this"),
        ("a &lt;b&gt; &amp; &#233;", "a <b> & é"),
        ("a\n   b\tc", "a b c"),
        ("<ul><li>one</li><li>two</li></ul>", "one\ntwo"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("<!-- open", ""),
        ("<script>open", ""),
        ("a <b", "a <b"),
        ("<!doctype html><?xml?>x", "x"),
        ("İ<script>İ</script>x", "İx"),
    ],
)
def test_html_is_converted_to_text(html, text):
    assert text_of(html) == text


def details(body_type: str, body: str) -> Details:
    return Details(**complete_body({"body_type": body_type, "body": body}, TEXT))


@pytest.mark.parametrize("text", ["", "Hi", "a < b & c", "one\ntwo", 'a "b"', "<script>alert(1)</script>"])
def test_text_is_unchanged_after_conversion_to_html_and_back(text):
    assert text_of(html_of(text)) == text
    assert convert_body("text", details("text", text)) == convert_body("html", details("html", text)) == text


def test_text_is_escaped_in_html():
    assert html_of("<script>\n") == "&lt;script&gt;<br>\n"


@pytest.mark.parametrize(
    "reference, character",
    [
        ("&#" + "0" * 5000 + "65;", "A"),
        ("&#" + "0" * 5000 + ";", "\ufffd"),
        ("&#" + "9" * 5000 + ";", "\ufffd"),  # Python refuses to parse a number of this length
        ("&#x" + "0" * 5000 + "41;", "A"),
        ("&#x" + "f" * 5000 + ";", "\ufffd"),
        ("&#0;&#xd800;", "\ufffd\ufffd"),  # characters that no database stores
    ],
)
def test_character_reference_may_have_any_number_of_digits(reference, character):
    assert text_of(f"<p>{reference}</p>") == character


ENTITY = "&CounterClockwiseContourIntegra"  # the longest name without its last letter
UNITS = [
    *("<", ">", "&", ";", "!", "-", "/", "=", "a", "1", "#", " ", "\n", "\x1f", "\u2028", "\U0001f600", ENTITY),
    *("&#", "&#9", "&#0", "&#x", "&#xf", "&lt", "&lt;", "&amp", "&a", "&am;", "--", "-->", "<<", ">>", "<>", "</>"),
    *("<a", "</a", "<!", "<?", "</", "<a>", "</a>", "<a/>", "<br>", "<p>", "</p>", "<p", "<p ", "<1", "<a<", "a<"),
    *("<!--", "<!-", "<!-->", "<!-->--", "<!---", "<!----->", "<a='", '<a=">"', "<!--<style>", "<style><!--"),
    *("<style", "<style>", "<style/>", "</style", "</style>", "<STYLE>", "<style></style", "<style></sty"),
    *("<script>", "<script></script", "<head></head>", "<title>", "<İ", "<scrİpt>", "</ſtyle", "<style></script>"),
]
STARTS = ["", "<", "<!", "<!--", "<a ", "<style>", "<title></title", "&#"]


@pytest.mark.parametrize("start", STARTS)
def test_any_html_is_converted_in_linear_time(start):
    for unit in UNITS:
        for end in ("", "-->"):
            assert_linear(text_of, lambda n: start + unit * (n // len(unit)) + end, 6_000)  # noqa: B023


@pytest.mark.parametrize("unit", ["a", "<", "&", " ", "<a", "<!--", "<style>", "<style></style", "&#9", "</", "\n"])
def test_the_longest_body_is_converted_in_linear_time(unit):
    assert_linear(text_of, lambda n: "<" + unit * (n // len(unit)), BODY_LENGTH)


def test_body_preview_is_the_start_of_the_text():
    styled = "<style>" + "p {}" * 5_000 + "</style>"

    assert preview_of(details("html", styled + "<p>Hi</p>" + "<i>x</i>" * 1000)) == "Hi\n" + "x" * 252
    assert preview_of(details("text", "x" * 1000)) == "x" * 255


def test_change_of_one_member_of_the_body_updates_the_others():
    html = {"body_type": "html", "body": "<p>Hi</p>", "body_text": "Hi"}

    assert complete_body({"subject": "Hi"}, html) == {"subject": "Hi"}
    assert complete_body({"body": "<p>You</p>"}, html) == {
        "body_type": "html",
        "body": "<p>You</p>",
        "body_text": "You",
    }
    assert complete_body({"body_type": "text"}, html) == {"body_type": "text", "body": "<p>Hi</p>", "body_text": ""}
    assert complete_body({"body_type": "html"}, TEXT | {"body": "<i>a"}) == {
        "body_type": "html",
        "body": "<i>a",
        "body_text": "a",
    }
