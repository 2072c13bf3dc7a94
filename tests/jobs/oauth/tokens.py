"""Actions that need a token, and an authority with a response that the test sets."""

import json
from threading import Event

from tests.peers.server import Answer, Server

SECRET = "the client's secret & more"


def document(uri: str, method="GET", template=False, request=None, **grant) -> dict:
    authentication = {
        "type": "ActiveDirectoryOAuth",
        "tenant": "contoso.example",
        "audience": "https://api.example",
        "clientId": "app",
        "secret": SECRET,
        **grant,
    }
    request = {"uri": uri, "method": method, "authentication": authentication, **(request or {})}
    return {"type": "Http", "template": template, "request": request}


class FixedResponse(Server):
    """An authority that always returns the same response, after a pause, and not before `may_answer` is set."""

    def __init__(self, answer: Answer, pause: float = 0):
        self.response = answer
        self.pause = pause
        self.may_answer = Event()
        self.may_answer.set()
        super().__init__()

    def answer(self, call):
        self.closing.wait(self.pause)
        self.may_answer.wait()
        return self.response

    def close(self) -> None:
        self.may_answer.set()
        super().close()


def token_of(text="a-token", **members) -> Answer:
    return Answer(body=json.dumps({"access_token": text, **members}))
