"""What jobs call.  `with Target() as target: ...` or the fixture `target`; then `target.url`, `target.wait_for(path)`.

`target.answers["/flaky"] = [Answer(503, {"Retry-After": "20"}), Answer(200)]` is answered in turn, the last one again.
"""

from urllib.parse import parse_qs, urlsplit

from tests.peers.server import Answer, Call, Server


class Target(Server):
    """It answers 200 with `ok`; `/status/503` answers that; `/slow/20` answers 200 after so many seconds;
    `/redirect/302?to=https://...` sends the caller there."""

    def __init__(self, **fields):
        self.answers: dict[str, list[Answer]] = {}
        super().__init__(**fields)

    def answer(self, call: Call) -> Answer:
        if turns := self.answers.get(call.path):
            return turns.pop(0) if len(turns) > 1 else turns[0]
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
