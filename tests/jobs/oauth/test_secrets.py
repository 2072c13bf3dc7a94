"""Secrets and tokens are neither shown nor sent to another origin."""

from jobs.actions import oauth
from tests.jobs.attempts import attempt
from tests.jobs.oauth.tokens import SECRET, document
from tests.peers.server import Answer
from tests.peers.target import Target


def test_token_that_the_target_repeats_is_masked(issuer, peer):
    class Echo(Target):
        def answer(self, call):
            text = call.headers["Authorization"]
            return Answer(200, {"X-Echo": text}, f"you sent {text}")

    outcome = attempt(document(peer(Echo).url))

    assert outcome.body == "you sent Bearer ********"
    assert issuer.issued[0].text not in f"{outcome}"


def test_token_is_not_sent_to_another_origin(issuer, target, peer):
    elsewhere = peer(Target)
    target.answers["/"] = [Answer(307, {"Location": f"{elsewhere.url}/"})]

    assert attempt(document(f"{target.url}/", request={"followRedirects": True})).succeeded
    assert target.calls[0].headers["Authorization"]
    assert elsewhere.calls[0].headers["Authorization"] is None


def test_repr_of_the_cache_contains_neither_secret_nor_token(issuer, target):
    attempt(document(target.url))

    cached = repr(vars(oauth.TOKENS))
    assert SECRET not in cached
    assert issuer.issued[0].text not in cached
