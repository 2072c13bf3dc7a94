import pytest
from django.core.management import call_command

from jobs.models import JobCollection


@pytest.fixture
def samples(subscription):
    return JobCollection.objects.create(subscription=subscription, name="monitoring", tags={"sample": "yes"})


def test_without_samples_it_is_not_there(client, subscription):
    JobCollection.objects.create(subscription=subscription, name="monitoring")  # somebody's own

    assert client.get("/echo/").status_code == 404
    assert client.post("/echo/", "hello", content_type="text/plain").status_code == 404


def test_it_comes_and_goes_with_the_samples(client, subscription):
    call_command("load_demo")
    assert client.get("/echo/").status_code == 200

    JobCollection.objects.all().delete()
    assert client.get("/echo/").status_code == 404


def test_one_query_finds_the_samples(client, samples, django_assert_num_queries):
    with django_assert_num_queries(1):
        client.get("/echo/")


def test_it_answers_what_it_was_sent(client, samples):
    answer = client.post("/echo/?a=b", "hello", content_type="text/plain", headers={"x-colour": "green"}).json()

    assert (answer["method"], answer["path"], answer["query"], answer["body"]) == (
        "POST",
        "/echo/",
        {"a": "b"},
        "hello",
    )
    assert answer["headers"]["X-Colour"] == "green"


def test_it_answers_with_the_status_it_is_asked_for(client, samples):
    assert client.get("/echo/?status=503").status_code == 503


def test_a_status_that_is_none_is_refused(client, samples):
    response = client.get("/echo/?status=99")

    assert response.status_code == 400
    assert response.json()["error"]["target"] == "status"


def test_credentials_are_not_shown(client, samples):
    headers = {"authorization": "Bearer s3cret", "cookie": "sessionid=s3cret", "x-api-key": "s3cret"}

    response = client.get("/echo/?sig=s3cret&access_token=s3cret", headers=headers)

    assert "s3cret" not in response.content.decode()


def test_a_large_body_is_cut(client, samples):
    response = client.post("/echo/", "x" * 2_000_000, content_type="text/plain")

    assert response.status_code == 200
    assert len(response.json()["body"]) == 8192
