"""Bodies as HTML and as plain text."""

import time

import pytest

from calendars.bodies import html_of, preview_of, shown_as, text_of


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
def test_what_a_reader_sees_of_html(html, text):
    assert text_of(html) == text


@pytest.mark.parametrize("text", ["", "Hi", "a < b & c", "one\ntwo", 'a "b"', "<script>alert(1)</script>"])
def test_text_survives_as_html(text):
    assert text_of(html_of(text)) == text
    assert shown_as("text", text, "text") == shown_as("html", text, "html") == text


def test_text_brings_no_tags_into_html():
    assert html_of("<script>\n") == "&lt;script&gt;<br>\n"


@pytest.mark.parametrize(
    "part", ["<", "<!--", "<a", "<style>", "</p>", "&", " \n", " ", "&#", "<p ", "<script", "\x1f<"]
)
def test_any_html_is_read_in_one_pass(part):
    began = time.process_time()

    text_of(part * (262_144 // len(part)))

    assert time.process_time() - began < 3


def test_a_preview_is_made_from_the_beginning():
    assert preview_of("html", "<p>Hi</p>" + "<i>x</i>" * 100_000).startswith("Hi\nxxx")
    assert len(preview_of("text", "x" * 1000)) == 255
