"""Calls Berth with Python's standard library alone: JSON, errors, retries, and streams that resume. Reads SERVER_URL and TOKEN."""

import json
import os
import time
import uuid
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

SERVER_URL = os.environ.get("SERVER_URL", "http://localhost:4000").rstrip("/")
ATTEMPTS = 4  # of one call, and of a stream since its last event
LONGEST_WAIT_SECONDS = 30  # before another attempt
ANSWER_SECONDS = 120  # a VM or a database may take that long to be made
SILENCE_SECONDS = 30  # of a stream, which has a heartbeat every 10 s
BUSY = (429, 502, 503)  # statuses that pass


class BerthError(Exception):
    """What Berth refused: `status`, `code`, `request_id`, `retry_after` in seconds or None, and a sentence that says what to do."""

    def __init__(self, status, code, message, request_id=None, retry_after=None):
        super().__init__(message)
        self.status, self.code, self.request_id, self.retry_after = status, code, request_id, retry_after

    def __str__(self):
        return f"{super().__str__()} ({self.code}, {self.status}, {self.request_id})"


def call(method, path, body=None, query=None, **ids):
    """Answers the JSON of a path, or None. `ids` fill its `{…}`. What Berth is too busy for, or what broke, is tried again."""
    headers = {"Content-Type": "application/json"}
    if method == "POST":
        headers["Idempotency-Key"] = str(uuid.uuid4())  # so that another attempt does nothing twice
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with _open(method, path, body, query, headers, ids, ANSWER_SECONDS) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except BerthError as error:
            if attempt == ATTEMPTS or error.status not in BUSY:
                raise
            wait = error.retry_after
        except (URLError, HTTPException, OSError):
            if attempt == ATTEMPTS:
                raise
            wait = None
        time.sleep(min(2 ** (attempt - 1) if wait is None else wait, LONGEST_WAIT_SECONDS))


def follow(path, query=None, **ids):
    """Yields the events of a stream, as JSON. One that is cut goes on after the last event: none is missed, none comes twice."""
    last, failures = None, 0
    while True:
        headers = {"Accept": "text/event-stream"}
        if last is not None:
            headers["Last-Event-ID"] = last
        try:
            with _open("GET", path, None, query, headers, ids, SILENCE_SECONDS) as answer:
                if answer.status == 204:  # there is no more
                    return
                for last, event in _events(answer, last):
                    failures = 0
                    yield event
        except BerthError as error:
            if error.status not in BUSY:
                raise
        except (URLError, HTTPException, OSError):
            pass  # it was cut
        failures += 1
        if failures == ATTEMPTS:
            raise ConnectionError(f"{path} broke off {ATTEMPTS} times without another event")
        time.sleep(min(2 ** (failures - 1), LONGEST_WAIT_SECONDS))


def graphql(document, **variables):
    """Answers the data of a GraphQL operation."""
    answer = call("POST", "/graphql", {"query": document, "variables": variables})
    for error in answer.get("errors") or []:
        about = error["extensions"]
        raise BerthError(about.get("http", {}).get("status", 200), about["code"], error["message"], about["requestId"])
    return answer["data"]


def _open(method, path, body, query, headers, ids, seconds):
    url = SERVER_URL + path.format(**{name: quote(value, safe="") for name, value in ids.items()})
    if query:
        url += "?" + urlencode(query)
    data = None if body is None else json.dumps(body).encode()
    headers = {**headers, "Authorization": f"Bearer {os.environ.get('TOKEN', '')}"}
    try:
        return urlopen(Request(url, data, headers, method=method), timeout=seconds)
    except HTTPError as error:
        raise _refusal(error) from None


def _refusal(error):
    """Reads the envelope: the infrastructure's has its code in `error`, that of agents and models an object."""
    request_id, after = error.headers.get("x-request-id"), error.headers.get("retry-after")
    try:
        body = json.loads(error.read())
        told = body if isinstance(body["error"], str) else body["error"]
        code, message = told["error"] if told is body else told["code"], told["message"]
    except (ValueError, KeyError, TypeError):
        code, message = "unknown", f"HTTP {error.code}"
    return BerthError(error.code, code, message, request_id, int(after) if after and after.isdigit() else None)


def _events(answer, last):
    """Reads server-sent events: yields the id and the JSON of each. Heartbeats, which have no id, are left out."""
    identifier, data = last, []
    for line in answer:
        name, _, value = line.decode().rstrip("\r\n").partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "id":
            identifier = value
        elif name == "data":
            data.append(value)
        elif name == "" and value == "" and data:
            if identifier != last:
                yield identifier, json.loads("\n".join(data))
            last, data = identifier, []
