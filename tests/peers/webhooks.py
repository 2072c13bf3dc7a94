"""A receiver of signed requests.  `receiver = Receiver(); receiver.secrets.append("whsec_...")`; then `receiver.url`.

It returns 204 if the standardwebhooks package verifies the request with any of its secrets, else 401.
"""

from collections.abc import Iterable

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.peers.server import Answer, Call, Server


class Receiver(Server):
    def __init__(self, secrets: Iterable[str] = (), **fields):
        self.secrets = list(secrets)
        super().__init__(**fields)

    def verified_with(self, call: Call) -> list[str]:
        """Return the secrets of the receiver that verify the call."""
        return [secret for secret in self.secrets if verifies(secret, call)]

    def answer(self, call: Call) -> Answer:
        return Answer(204) if self.verified_with(call) else Answer(401, body="no matching signature")


def verifies(secret: str, call: Call) -> bool:
    try:
        Webhook(secret).verify(call.body, dict(call.headers), json_parse=False)
    except WebhookVerificationError:
        return False
    return True
