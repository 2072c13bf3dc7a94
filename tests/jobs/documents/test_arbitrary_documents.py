"""Any value in the document of an action is accepted or refused; it never causes an unexpected error."""

import base64
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.errors import Invalid
from jobs.actions import documents, pfx
from tests.jobs.documents.conftest import pfx_of
from tests.jobs.documents.samples import BASIC, OAUTH, SERVICE_BUS, STORAGE, http, replaced


def places(document, place=()):
    """Yield the paths of all members of a document, as tuples."""
    for name, value in document.items():
        yield (*place, name)
        if isinstance(value, dict):
            yield from places(value, (*place, name))


FULL = {
    **http(BASIC, headers={"A": "1"}, body="b"),
    "retryPolicy": {"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 3},
    "errorAction": http(OAUTH),
}
STRANGE = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    " ",
    "\0",
    "\ud800",
    "ä",
    "a" * 20_000,
    [],
    [None],
    {},
    {"a": {}},
    {"": 1},
]


@pytest.mark.parametrize("document", [FULL, STORAGE, SERVICE_BUS], ids=["http", "storage", "bus"])
def test_any_value_of_a_member_is_accepted_or_refused_with_a_path_below_action(document):
    for place in places(document):
        for value in STRANGE:
            try:
                parsed = documents.parse(replaced(document, place, value))
            except Invalid as error:
                assert error.path.startswith("action")
            else:
                json.dumps(parsed.document).encode()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "request",
                        "uri",
                        "method",
                        "headers",
                        "authentication",
                        "queueMessage",
                        "retryPolicy",
                        "errorAction",
                    ]
                ),
                inner,
            )
            | st.lists(inner)
        ),
        max_leaves=20,
    )
)
def test_any_value_as_a_document_is_accepted_or_refused(value):
    try:
        parsed = documents.parse(value)
    except Invalid:
        return
    assert isinstance(parsed, documents.ParsedAction)


@given(st.binary(max_size=200))
def test_any_bytes_as_a_certificate_are_refused(data):
    with pytest.raises(ValueError):
        pfx.load(base64.b64encode(data).decode(), "pw")


@pytest.mark.filterwarnings("ignore:PKCS#12 bundle could not be parsed as DER")
@given(st.data())
def test_damaged_certificate_is_refused_or_read(certificate, data):
    content = bytearray(base64.b64decode(pfx_of(certificate, None)))
    for position in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=5)):
        content[position] = data.draw(st.integers(0, 255))

    try:
        members = pfx.public_members(base64.b64encode(content).decode(), None)
    except ValueError:
        return
    assert re.fullmatch("[0-9A-F]{40}", members["certificateThumbprint"])
