"""Which bodies and ids Apigee's triggers interface accepts, and which it refuses."""

import json

import pytest

from tests.site.test_bad_input import BODIES
from tests.triggers.mint.triggers import ADHOC_ID, CHARGE, CHARGE_ID, LIST, refusal, state_of


@pytest.mark.parametrize("sent", [{}, {"id": None}, {"id": ""}, {"id": 5}, {"id": ADHOC_ID}, {"id": CHARGE_ID.lower()}])
def test_a_missing_or_different_id_is_a_400(api, make_trigger, sent):
    make_trigger()
    before = state_of()

    status, body = refusal(api.put(f"{LIST}/{CHARGE_ID}", sent | {"enabled": False}))

    assert (status, body["message"].partition(":")[0]) == (400, "id")
    assert state_of() == before


PUBLISHED = f'{{ "id" : "{CHARGE_ID}", "cronExpression" : "0 20 1 * * ?", "enabled" : true }}, }}'


@pytest.mark.parametrize("body", [PUBLISHED.encode(), *BODIES.values()], ids=["as published", *BODIES])
def test_a_body_that_is_not_strict_json_is_a_400(api, make_trigger, body):
    make_trigger()
    before = state_of()

    response = api.generic("PUT", f"{LIST}/{CHARGE_ID}", body, content_type="application/json")

    assert refusal(response)[0] == 400
    assert state_of() == before


def test_a_body_of_another_type_or_length_is_refused(api, make_trigger):
    make_trigger()
    long = json.dumps({"id": CHARGE_ID, "x": "x" * 20_000}).encode()

    other = api.generic("PUT", f"{LIST}/{CHARGE_ID}", b"enabled=false", content_type="application/xml")
    charset = api.generic("PUT", f"{LIST}/{CHARGE_ID}", b"{}", content_type="application/json; charset=latin-1")

    assert refusal(other)[0] == refusal(charset)[0] == 415
    assert refusal(api.generic("PUT", f"{LIST}/{CHARGE_ID}", long, content_type="application/json"))[0] == 400


@pytest.mark.parametrize(
    "trig_id",
    [
        ADHOC_ID,
        CHARGE,
        f"{CHARGE}@@@message-processor@@@DEFAULT",
        f"{CHARGE}@@@management-server@@@SYSTEM",
        CHARGE_ID.lower(),
        "1",
        "@@@",
        "%00",
        "MINT.CHARGE_DAILY%00@@@management-server@@@DEFAULT@@@management-server@@@DEFAULT",
        "x" * 3000,
        f"{CHARGE_ID}.json",
        f"{CHARGE_ID}/runs",
        "%ff",
    ],
)
def test_an_unknown_id_is_a_404(api, make_trigger, trig_id):
    make_trigger()

    for method in ("get", "put"):
        assert refusal(getattr(api, method)(f"{LIST}/{trig_id}"))[0] == 404


@pytest.mark.parametrize("name", ["MINT.ONCE@@@g@@@S", "nightly"])
def test_triggers_with_other_names_or_formats_are_not_found(api, make_trigger, name):
    form = {"format": "once", "definition": {"at": "2030-01-01T00:00:00Z"}} if "@" in name else {}
    make_trigger(name, **form)

    assert api.get(f"{LIST}?orgid=default").json() == []
    assert refusal(api.get(f"{LIST}/{name}@@@g@@@S"))[0] == 404


@pytest.mark.parametrize("address", ["/v1/mint", "/v1/mint/", "/v1/mint/organizations", "/v1/mint/triggersx"])
def test_unknown_address_is_a_404_in_the_same_format(api, address):
    assert refusal(api.get(address))[0] == 404


@pytest.mark.parametrize(
    "method, address",
    [(method, LIST) for method in ("post", "put", "patch", "delete", "options")]
    + [(method, f"{LIST}/{CHARGE_ID}") for method in ("post", "patch", "delete", "options")],
)
def test_a_wrong_method_is_a_405(api, make_trigger, method, address):
    make_trigger()

    assert refusal(getattr(api, method)(f"{address}?orgid=default"))[0] == 405
