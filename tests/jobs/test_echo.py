import pytest
from django.core.management import call_command

from jobs.models import JobCollection


@pytest.fixture
def samples(subscription):
    return JobCollection.objects.create(subscription=subscription, name="monitoring", tags={"sample": "yes"})


def test_echo_page_does_not_exist_without_samples(client, subscription):
    JobCollection.objects.create(subscription=subscription, name="monitoring")  # not a sample

    assert client.get("/echo/").status_code == 404
    assert client.post("/echo/", "hello", content_type="text/plain").status_code == 404


def test_echo_page_exists_as_long_as_the_samples(client, subscription):
    call_command("load_demo")
    assert client.get("/echo/").status_code == 200

    JobCollection.objects.all().delete()
    assert client.get("/echo/").status_code == 404


def test_echo_page_takes_one_query(client, samples, django_assert_num_queries):
    with django_assert_num_queries(1):
        client.get("/echo/")


def test_echo_page_returns_the_request(client, samples):
    document = client.post("/echo/?a=b", "hello", content_type="text/plain", headers={"x-colour": "green"}).json()

    assert (document["method"], document["path"], document["query"], document["body"]) == (
        "POST",
        "/echo/",
        {"a": "b"},
        "hello",
    )
    assert document["headers"]["X-Colour"] == "green"


def test_echo_page_returns_the_requested_status(client, samples):
    assert client.get("/echo/?status=503").status_code == 503


def test_echo_page_refuses_an_invalid_status(client, samples):
    response = client.get("/echo/?status=99")

    assert response.status_code == 400
    assert response.json()["error"]["target"] == "status"


def test_echo_page_does_not_show_credentials(client, samples):
    names = ("Authorization", "Cookie", "X-Api-Key", "X-Passwd", "jwt", "X-Forwarded-For")
    headers = dict.fromkeys(names, "s3cret")

    response = client.get("/echo/?sig=s3cret&access_token=s3cret&code=s3cret", headers=headers)

    assert "s3cret" not in response.content.decode()


def test_echo_page_cuts_a_large_body(client, samples):
    response = client.post("/echo/", "x" * 2_000_000, content_type="text/plain")

    assert response.status_code == 200
    assert len(response.json()["body"]) == 8192
