"""Actions of each kind, as documents and as form fields."""

from jobs.models import Action, Job

ADD = "/admin/jobs/job/add/"
FORM = {
    "name": "backup",
    "state": "enabled",
    "tab": "simple",
    "what": "fields",
    "frequency": "Day",
    "start": "2027-01-05T08:00",
    "misfire": "fire_once",
    "overlap": "skip",
    "delivery": "at_least_once",
}
HTTP = {"type": "Http", "method": "POST", "uri": "https://example.com/x"}
STORAGE = {
    "type": "StorageQueue",
    "storage_account": "account1",
    "storage_queue": "mail",
    "sas_token": "?sv=1&sig=topsecret",
    "queue_message": "hello",
}
BUS = {
    "type": "ServiceBusQueue",
    "namespace": "orders",
    "bus_queue": "incoming",
    "bus_authentication": "SharedAccessKey",
    "sas_key_name": "sender",
    "sas_key": "c2VjcmV0a2V5",
    "bus_message": "hello",
}

REQUEST = {"uri": "https://example.com/x", "method": "POST"}
BASIC = {"type": "Basic", "username": "ada", "password": "opensesame"}
OAUTH = {
    "type": "ActiveDirectoryOAuth",
    "tenant": "contoso.example",
    "clientId": "client-1",
    "secret": "clientsecret",
    "audience": "https://api.example/",
    "authority": "https://login.example",
}
QUEUE = {"storageAccount": "account1", "queueName": "mail", "sasToken": "sig=topsecret", "message": " two\r\nlines "}
MESSAGE = {
    "namespace": "orders",
    "message": "hello",
    "transportType": "AMQP",
    "authentication": {"type": "SharedAccessKey", "sasKeyName": "sender", "sasKey": "c2VjcmV0a2V5"},
    "customMessageProperties": {"kind": "order", "token": "not a secret"},
    "brokeredMessageProperties": {
        "contentType": "text/plain",
        "correlationId": "c-1",
        "forcePersistence": False,
        "label": "orders",
        "messageId": "m-1",
        "partitionKey": "s",
        "replyTo": "answers",
        "replyToSessionId": "r",
        "scheduledEnqueueTimeUtc": "2030-01-01T08:00:00.25Z",
        "sessionId": "s",
        "timeToLive": "01:00:00",
        "to": "x",
        "viaPartitionKey": "v",
    },
}
ALL_KINDS = {
    "plain": {"type": "Http", "request": REQUEST},
    "empty": {"type": "Http", "request": {**REQUEST, "headers": {}, "body": ""}},
    "lines": {"type": "Http", "request": {**REQUEST, "body": "\n a\r\nb\n\n"}, "retryPolicy": {"retryCount": 0}},
    "mixed": {"type": "Https", "request": {**REQUEST, "uri": "http://example.com/"}, "template": True},
    "basic": {"type": "Http", "request": {**REQUEST, "authentication": BASIC}},
    "oauth": {"type": "Https", "request": {**REQUEST, "authentication": OAUTH, "followRedirects": True}},
    "follow": {"type": "Http", "request": REQUEST, "follow": True, "followLimit": "PT2H"},
    "follows": {"type": "Https", "request": REQUEST, "follow": True},
    "headers": {
        "type": "Http",
        "request": {**REQUEST, "headers": {"X-Tag": "a:b", "Authorization": "Bearer abcdefgh"}},
    },
    "marks": {
        "type": "Https",
        "request": {
            **REQUEST,
            "uri": "https://example.com/x?code=opensesame&who=amber-lantern",
            "secretQuery": ["who"],
            "headers": {"X-Tag": "copper-meadow"},
            "secretHeaders": ["X-Tag"],
        },
    },
    "success": {
        "type": "Http",
        "request": {
            **REQUEST,
            "success": {
                "statusCodes": [200, "300-399"],
                "bodyContains": " ok ",
                "bodyPath": "$.a[0]",
                "bodyValue": "5",
            },
        },
    },
    "exponential": {
        "type": "Http",
        "request": REQUEST,
        "retryPolicy": {
            "retryType": "Exponential",
            "retryInterval": "00:00:30",
            "retryCount": 3,
            "maximumRetryInterval": "PT1H",
        },
    },
    "storage": {"type": "StorageQueue", "queueMessage": QUEUE},
    "envelope": {
        "type": "StorageQueue",
        "queueMessage": {**QUEUE, "messageFormat": "Xml", "messageEncoding": "Base64"},
    },
    "bus queue": {"type": "ServiceBusQueue", "serviceBusQueueMessage": {**MESSAGE, "queueName": "incoming"}},
    "bus topic": {"type": "ServiceBusTopic", "serviceBusTopicMessage": {**MESSAGE, "topicPath": "news/all"}},
    "bare bus": {"type": "ServiceBusQueue", "serviceBusQueueMessage": {"namespace": "orders", "queueName": "incoming"}},
    "error action": {
        "type": "Http",
        "request": REQUEST,
        "errorAction": {"type": "StorageQueue", "queueMessage": QUEUE, "retryPolicy": {"retryType": "None"}},
    },
    "alarm": {
        "type": "Http",
        "request": REQUEST,
        "errorAction": {"type": "Https", "request": {"uri": "https://alerts.example/", "method": "POST"}},
    },
}
# actions that form fields cannot express
ONLY_AS_JSON = {"header with spaces": {"type": "Http", "request": {**REQUEST, "headers": {"X-Tag": " a "}}}}


def edit_url(job) -> str:
    return f"/admin/jobs/job/{job.pk}/change/"


def load_action() -> Action:
    return Job.objects.get().action
