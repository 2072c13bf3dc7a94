"""Triggers with names like Apigee's: their definitions in the tests, and helpers that read what is stored."""

from triggers.models import Trigger

LIST = "/v1/mint/triggers"
CHARGE = "MINT.CHARGE_DAILY@@@management-server@@@DEFAULT"
CHARGE_ID = f"{CHARGE}@@@management-server@@@DEFAULT"
ADHOC = "MINT.ADHOC_NOTIFY@@@management-server@@@DEFAULT"
ADHOC_ID = f"{ADHOC}@@@management-server@@@DEFAULT"
CRON = {"format": "quartz", "definition": {"expression": "0 20 1 * * ?"}}
START = "1372916749000"  # from the published example: before its trigger was created
SIMPLE = {"format": "simple", "definition": {"startTime": START}}


def read_again(trigger: Trigger) -> Trigger:
    return Trigger.objects.get(pk=trigger.pk)


def state_of(*_) -> list:
    return list(Trigger.objects.order_by("pk").values())


def refusal(response) -> tuple[int, dict]:
    body = response.json()
    assert set(body) == {"code", "message"}
    assert all(isinstance(text, str) and text for text in body.values()), body
    return response.status_code, body
