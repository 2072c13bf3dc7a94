"""The server that jobs call: `with Target() as target: ...`, or the fixture `target`.

It has the address `target.url`; `target.wait_for(path)` waits for a call.

`target.answers["/flaky"] = [Answer(503, {"Retry-After": "20"}), Answer(200)]` sets the responses to calls in turn; the
last one is repeated.
"""

from urllib.parse import parse_qs, urlsplit

from tests.peers.server import Answer, Call, Server


class Target(Server):
    """A server that returns 200 with `ok`; `/status/503` returns 503; `/slow/20` returns 200 after 20 seconds;
    `/redirect/302?to=https://...` redirects the caller."""

    def __init__(self, **fields):
        self.answers: dict[str, list[Answer]] = {}
        super().__init__(**fields)

    def answer(self, call: Call) -> Answer:
        if responses := self.answers.get(call.path):
            return responses.pop(0) if len(responses) > 1 else responses[0]
        address = urlsplit(call.path)
        kind, _, value = address.path.lstrip("/").partition("/")
        match kind:
            case "slow":
                self.closing.wait(float(value))
            case "status":
                return Answer(int(value))
            case "redirect":
                return Answer(int(value), {"Location": parse_qs(address.query)["to"][0]})
        return Answer()
