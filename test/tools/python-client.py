"""The Python client, as it was installed from its wheel: <address of the service> <service token> <README of the client> <examples>.

Prints a line for each test, `name: ok` or what is wrong.
"""

import asyncio
import dataclasses
import datetime
import email.utils
import hashlib
import http.server
import inspect
import io
import json
import os
import pathlib
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import zipfile

import httpx
import qstamp
from standardwebhooks.webhooks import Webhook

url, service_token, readme, examples = sys.argv[1:]
TEXT = "What an agent wrote. Ünïcödé.\n"
HASH = hashlib.sha256(TEXT.encode()).hexdigest()
START = {"user_email": "client@example.com", "agent_id": "agent-7", "briefing": "Paint a bridge."}


def connect(**options):
    return qstamp.Qstamp(url, service_token=service_token, **options)


class Stamping(unittest.TestCase):
    def test_a_file_bytes_text_and_hash_are_the_same_stamp(self):
        with tempfile.TemporaryDirectory() as folder, connect() as client:
            path = pathlib.Path(folder, "output.txt")
            path.write_text(TEXT, encoding="utf-8")
            stamps = [
                client.stamp_file(path),
                client.stamp_file(str(path), tier="plus", metadata={"run": "7"}),
                client.stamp_file(io.BytesIO(TEXT.encode())),
                client.stamp_bytes(TEXT.encode()),
                client.stamp_text(TEXT),
                client.stamp_hash(HASH.upper()),
            ]
            self.assertEqual([stamp.content_sha256 for stamp in stamps], [HASH] * 6)
            self.assertEqual([stamp.tier for stamp in stamps[:2]], ["basic", "plus"])
            self.assertEqual(stamps[0].imprint, qstamp.Imprint(algorithm="sha256", digest=HASH))
            self.assertTrue(client.verify(stamps[0].token_id).valid)
            self.assertTrue(qstamp.require_valid(client.verify_file(path, stamps[0])).valid)
            path.write_text("changed")
            result = client.verify_file(path, stamps[0])
            self.assertEqual(qstamp.reason_code_of(result), "imprint_mismatch")
            with self.assertRaises(qstamp.NotValid) as raised:
                qstamp.require_valid(result)
            self.assertEqual(raised.exception.code, "imprint_mismatch")

    def test_content_is_sent_when_asked_only(self):
        content = bytes(range(256)) * 400
        with qstamp.Qstamp(url) as client:
            stamp = client.stamp_bytes(content, send_content=True)
            self.assertEqual(stamp.tier, "sealed")
            self.assertEqual(httpx.get(client.address_of(stamp.sealed_storage_url)).content, content)
            self.assertIsNone(client.stamp_bytes(content).sealed_storage_url)
            with self.assertRaisesRegex(qstamp.QstampError, "tier sealed"):
                client.stamp_bytes(content, send_content=True, tier="plus")

    def test_many_in_one_request(self):
        hashes = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(5)]
        with connect() as client, qstamp.Qstamp(url) as agent:
            for each in (client, agent):
                outcomes = each.stamp_many([*hashes, (HASH, {"long": "x" * 5000})], tier="plus", metadata={"run": "7"})
                self.assertEqual([outcome.result().content_sha256 for outcome in outcomes[:5]], hashes)
                self.assertIsInstance(outcomes[5].error, qstamp.InvalidRequest)
            workflow = client.start_workflow(**START)
            outputs = [qstamp.OutputToStamp(output_hash=each, output_type="image", output_metadata={"page": 1}) for each in hashes]
            made = workflow.stamp_many(outputs)
            self.assertEqual([outcome.result().sequence_number for outcome in made], [1, 2, 3, 4, 5])

    def test_what_is_no_content_is_refused(self):
        with connect() as client:
            self.assertRaisesRegex(qstamp.QstampError, "64 hexadecimal", client.stamp_hash, "abc")
            self.assertRaises(FileNotFoundError, client.stamp_file, "/no such file")
            workflow = client.open_workflow("id", "secret")
            for each in (client, workflow):
                with open(readme, encoding="utf-8") as text:
                    self.assertRaisesRegex(TypeError, "binary mode", each.stamp_file, text)
                self.assertRaisesRegex(TypeError, "stamp_text takes a text", each.stamp_bytes, "report.pdf")
                self.assertRaisesRegex(TypeError, "stamp_bytes takes bytes", each.stamp_text, b"report")
                self.assertRaisesRegex(TypeError, "not NoneType", each.stamp_hash, None)
            seen, options = answering()
            self.assertRaises(qstamp.QstampError, qstamp.Qstamp(url, **options).stamp_many, [HASH, "abc"])
            self.assertEqual(seen, [])

    def test_a_saved_stamp_is_verified_later(self):
        with connect() as client:
            saved = json.dumps(dataclasses.asdict(client.stamp_text(TEXT)))
            stamp = qstamp.StampToken(**json.loads(saved))
            self.assertTrue(client.verify_file(io.BytesIO(TEXT.encode()), stamp))
            self.assertFalse(client.verify_file(io.BytesIO(b"other"), stamp))

    def test_errors_by_kind(self):
        with connect() as client, qstamp.Qstamp(url, service_token="wrong") as stranger:
            with self.assertRaises(qstamp.InvalidRequest) as faulty:
                client.stamp_text("a", metadata={"a": "b" * 5000})
            self.assertEqual(faulty.exception.issues[0].loc, ["body", "metadata"])
            self.assertRegex(faulty.exception.request_id, "^[0-9a-f-]{36}$")
            long = client.stamp_many([(HASH, {"a": "b" * 5000}), HASH])[0].error
            self.assertRegex(long.request_id, "^[0-9a-f-]{36}$")
            with self.assertRaises(qstamp.Unauthorized) as unknown:
                stranger.stamp_text("a")
            self.assertEqual((unknown.exception.code, bool(unknown.exception.request_id)), ("unauthorized", True))
        with connect(default_headers={"x-a": "secret\n1"}) as client, self.assertRaisesRegex(qstamp.QstampError, "^a header has a value that"):
            client.stamp_text("a")
        with self.assertRaisesRegex(qstamp.QstampError, "^url must not have a user"):
            qstamp.Qstamp("https://user:secret@a.example")
            key = secrets.token_hex(8)
            self.assertEqual(client.stamp_text("a", idempotency_key=key), client.stamp_text("a", idempotency_key=key))
            with self.assertRaises(qstamp.Conflict) as reused:
                client.stamp_text("b", idempotency_key=key)
            self.assertEqual(reused.exception.code, "idempotency_key_reused")
            self.assertRaises(qstamp.NotFound, client.open_workflow("01a200f2-0f4b-734d-866a-e67e7c47f5d8", "x").state)
        self.assertRaisesRegex(qstamp.QstampError, "https://", qstamp.Qstamp, "stamps.example")
        with qstamp.Qstamp("http://127.0.0.1:9", max_retries=1) as nowhere:
            self.assertRaises(qstamp.ServiceUnreachable, nowhere.stamp_text, "a")


class Workflows(unittest.TestCase):
    def test_it_is_completed_at_the_end_of_the_block(self):
        with connect() as client:
            with client.workflow(**START) as workflow:
                numbers = [
                    workflow.stamp_text("one").sequence_number,
                    workflow.stamp_bytes(b"two", output_type="image", output_metadata={"page": 2}).sequence_number,
                    workflow.stamp_file(io.BytesIO(b"three"), output_type="code").sequence_number,
                    workflow.stamp_hash(HASH).sequence_number,
                ]
            self.assertEqual(numbers, [1, 2, 3, 4])
            types = [output["output_type"] for output in httpx.get(f"{workflow.page_url}/outputs.json").json()["outputs"]]
            self.assertEqual(types, ["text", "image", "code", "file"])
            for shown in (repr(workflow), repr(workflow.started)):
                self.assertNotIn(workflow.token, shown)
            state = client.open_workflow(workflow.id, workflow.token).state()
            self.assertEqual((state.status, state.output_count, state.agent_id), ("completed", 4, "agent-7"))
            self.assertEqual(workflow.complete().output_count, 4)
            self.assertEqual(workflow.redact().user_email, "[REDACTED]")
            self.assertEqual(httpx.get(workflow.page_url).status_code, 200)

    def test_what_fails_stays_open(self):
        with connect() as client:
            with self.assertRaises(RuntimeError):
                with client.workflow(**START) as workflow:
                    workflow.stamp_text("one")
                    raise RuntimeError("the tool failed")
            self.assertEqual(workflow.state().status, "pending")
            self.assertEqual(workflow.resend_link().status, "pending")
            began = time.monotonic()
            with self.assertRaises(TimeoutError):
                workflow.until_confirmed(timeout=0.5)
            self.assertGreaterEqual(time.monotonic() - began, 0.5)

    def test_tasks_do_the_same(self):
        async def tell():
            async with qstamp.AsyncQstamp(url, service_token=service_token) as client:
                stamp = await client.stamp_text(TEXT)
                self.assertTrue((await client.verify(stamp.token_id)).valid)
                async with client.workflow(**START) as workflow:
                    made = await asyncio.gather(*(workflow.stamp_text(str(number)) for number in range(5)))
                self.assertEqual([output.sequence_number for output in made], [1, 2, 3, 4, 5])
                state = await workflow.state()
                self.assertEqual((state.status, state.output_count), ("completed", 5))

        asyncio.run(tell())

    def test_both_clients_have_the_same_methods(self):
        for one, other in ((qstamp.Qstamp, qstamp.AsyncQstamp), (qstamp.Workflow, qstamp.AsyncWorkflow)):
            public = [name for name in dir(one) if not name.startswith("_")]
            self.assertEqual(public, [name for name in dir(other) if not name.startswith("_")])
            for name in filter(lambda name: callable(getattr(one, name)), public):
                ours, theirs = (inspect.signature(getattr(kind, name)).parameters for kind in (one, other))
                self.assertEqual(ours, theirs)


class Later(unittest.TestCase):
    def test_who_does_not_wait_gets_id_and_address(self):
        key = secrets.token_hex(8)
        with connect() as client, qstamp.Qstamp(url) as agent:
            for each in (client, agent):
                accepted = each.later.stamp_text(TEXT, metadata={"run": "7"}, idempotency_key=key)
                self.assertIsInstance(accepted, qstamp.AcceptedStamp)
                result = each.until_stamped(accepted, timeout=30)
                self.assertEqual((result.valid, result.token_id, result.content_sha256), (True, accepted.token_id, HASH))
                again = each.later.stamp_text(TEXT, metadata={"run": "7"}, idempotency_key=key)
                self.assertEqual((type(again), again.token_id), (qstamp.StampToken, accepted.token_id))
            many = client.later.stamp_many([HASH, (HASH, {"long": "x" * 5000}), HASH])
            self.assertIsInstance(many[1].error, qstamp.InvalidRequest)
            self.assertTrue(all(client.until_stamped(many[place].result().token_id, timeout=30).valid for place in [0, 2]))
            began = time.monotonic()
            with self.assertRaises(TimeoutError):
                client.until_stamped("01a200f2-0f4b-734d-866a-e67e7c47f5d8", timeout=1.5)
            self.assertGreaterEqual(time.monotonic() - began, 1.5)

    def test_outputs_join_before_the_workflow_is_completed(self):
        with connect() as client:
            with client.workflow(**START) as workflow:
                self.assertIsInstance(workflow.later.stamp_text("one"), qstamp.AcceptedOutput)
                many = workflow.later.stamp_many([qstamp.OutputToStamp(output_hash=HASH, output_type="image")] * 5)
                self.assertTrue(all(isinstance(outcome.result(), qstamp.AcceptedOutput) for outcome in many))
            self.assertEqual(workflow.state().output_count, 6)

    def test_tasks_do_the_same(self):
        async def tell():
            async with qstamp.AsyncQstamp(url, service_token=service_token) as client:
                accepted = await asyncio.gather(*(client.later.stamp_text(str(number)) for number in range(5)))
                results = await asyncio.gather(*(client.until_stamped(each, timeout=30) for each in accepted))
                self.assertTrue(all(result.valid for result in results))
                async with client.workflow(**START) as workflow:
                    await workflow.later.stamp_text("one")
                self.assertEqual((await workflow.state()).output_count, 1)

        asyncio.run(tell())

    def test_a_webhook_tells_what_the_call_answered(self):
        told = []

        class Receiver(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                told.append(qstamp.verify_webhook(body, self.headers, secret=os.environ["WEBHOOK_SECRET"]))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{receiver.server_port}/"

        def until(count):
            deadline = time.monotonic() + 30
            while len(told) < count and time.monotonic() < deadline:
                time.sleep(0.05)
            return told

        with connect() as client:
            stamp = client.stamp_text(TEXT, callback_url=here)
            self.assertEqual(until(1), [dataclasses.asdict(stamp)])
            ids = {outcome.result().token_id for outcome in client.later.stamp_many([HASH, HASH], callback_url=here)}
            self.assertEqual({payload["token_id"] for payload in until(3)[1:]}, ids)
            workflow = client.start_workflow(**START)
            output = workflow.stamp_text("one", callback_url=here)
            payload = until(4)[3]
            self.assertEqual((payload["output_id"], payload["sequence_number"]), (output.output_id, 1))
            self.assertTrue(payload["verify_url"].endswith(output.verify_url))
            workflow.stamp_many([qstamp.OutputToStamp(output_hash=HASH, output_type="text", callback_url=here)])
            self.assertEqual(until(5)[4]["sequence_number"], 2)
        receiver.shutdown()


def answering(*answers):
    """A client whose service answers so, one after the other, and the requests that it got."""
    seen, waiting = [], list(answers)

    def handle(request):
        seen.append(request)
        answer = waiting.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer(request) if callable(answer) else answer

    return seen, {"http": httpx.Client(transport=httpx.MockTransport(handle))}


def stamp_of(sha256):
    members = {"token_id": "id", "issued_at": "2026-11-22T00:00:00Z", "content_sha256": sha256, "token": "AA==", "tier": "basic"}
    more = {"imprint": {"algorithm": "sha256", "digest": sha256}, "tsp_provider": "mock", "is_qualified": False, "verify_url": "/v"}
    return {**members, **more, "sealed_storage_url": None, "a_member_of_tomorrow": 1}


def refusal(code, **more):
    return {"detail": "A sentence.", "code": code, "request_id": "request-1", **more}


class Losing(httpx.HTTPTransport):
    """Does what is asked, and loses the first answer to each request on its way back."""

    answered: set[str] = set()

    def handle_request(self, request):
        response = super().handle_request(request)
        key = request.headers.get("idempotency-key", "")
        if key in self.answered:
            return response
        self.answered.add(key)
        response.close()
        raise httpx.ReadError("the connection was cut")


class Retries(unittest.TestCase):
    def test_nothing_is_made_twice_when_answers_are_lost(self):
        def count():
            listed = httpx.get(f"{url}/api/v1/internal/v1/stamps", params={"limit": 1}, headers={"x-service-token": service_token})
            return listed.json()["total"]

        before = count()
        with connect(http=httpx.Client(transport=Losing())) as client:
            client.stamp_text("once")
            with client.workflow(**START) as workflow:
                self.assertEqual([workflow.stamp_text(text).sequence_number for text in ("one", "two")], [1, 2])
            self.assertEqual(workflow.state().output_count, 2)
        self.assertEqual(count() - before, 1)

    def test_the_same_key_after_retry_after_and_lost_connections(self):
        busy = httpx.Response(503, json=refusal("overloaded"), headers={"retry-after": "1"})
        cut, proxy = httpx.ReadError("cut"), httpx.Response(502, text="<h1>Bad Gateway</h1>")
        seen, options = answering(busy, cut, proxy, httpx.Response(201, json=stamp_of(HASH)))
        started = time.monotonic()
        self.assertEqual(qstamp.Qstamp("http://stamps.example/behind/", **options).stamp_hash(HASH).content_sha256, HASH)
        self.assertGreaterEqual(time.monotonic() - started, 1)
        self.assertEqual((len(seen), len({request.headers["idempotency-key"] for request in seen})), (4, 1))
        self.assertEqual(seen[0].url.path, "/behind/api/v1/agent/v1/stamp/basic")
        self.assertEqual(json.loads(seen[0].content), {"hash": HASH, "tier": "basic"})

    def test_who_is_told_to_wait_too_long_is_told_at_once(self):
        later = email.utils.format_datetime(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1), usegmt=True)
        for status, code, wait, kind in (
            (429, "rate_limited", "3600", qstamp.RateLimited),
            (502, "provider_failed", None, qstamp.ProviderFailed),
            (503, "queue_unavailable", later, qstamp.Unavailable),
        ):
            headers = {} if wait is None else {"retry-after": wait}
            seen, options = answering(httpx.Response(status, json=refusal(code), headers=headers))
            with self.assertRaises(kind) as raised:
                qstamp.Qstamp(url, **options).stamp_hash(HASH)
            self.assertEqual((raised.exception.code, len(seen)), (code, 1))
            if wait is not None:
                self.assertAlmostEqual(raised.exception.retry_after, 3600, delta=5)

    def test_a_stamp_on_its_way_has_an_address(self):
        body = refusal("stamp_pending", token_id="id", verify_url="/there")
        seen, options = answering(*[httpx.Response(504, json=body, headers={"retry-after": "0"})] * 3)
        with self.assertRaises(qstamp.Pending) as raised:
            qstamp.Qstamp(url, max_retries=2, **options).stamp_hash(HASH)
        self.assertEqual((raised.exception.stamp_id, raised.exception.address, len(seen)), ("id", "/there", 3))

    def test_somebody_else_answers(self):
        for answer in (httpx.Response(200, text="<html>"), httpx.Response(200, json={"token_id": "id"}), httpx.Response(200, json=[])):
            _, options = answering(answer)
            self.assertRaises(qstamp.UnexpectedAnswer, qstamp.Qstamp(url, **options).stamp_hash, HASH)

    def test_many_in_one_request(self):
        def made(request):
            items = [stamp_of(item["hash"]) for item in json.loads(request.content)]
            if len(items) > 1:
                items[7] = refusal("provider_failed", index=7, status=502)
            return httpx.Response(200, json=items)

        def unfinished(request):
            items = json.loads(made(request).content)
            items[8] = refusal("stamp_pending", index=8, status=504, token_id="id", verify_url="/there")
            return httpx.Response(504, json=items, headers={"retry-after": "0"})

        hashes = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(1001)]
        seen, options = answering(unfinished, made, made)
        outcomes = qstamp.Qstamp(url, service_token="x", **options).stamp_many(hashes)
        self.assertEqual([outcome.made and outcome.made.content_sha256 for outcome in outcomes], hashes[:7] + [None] + hashes[8:])
        self.assertRaises(qstamp.ProviderFailed, outcomes[7].result)
        self.assertEqual([request.url.path for request in seen], ["/api/v1/internal/v1/stamps"] * 3)
        first, again, last = (request.headers["idempotency-key"] for request in seen)
        self.assertEqual((first == again, first == last), (True, False))


    def test_what_was_made_is_told_when_a_later_piece_is_refused(self):
        def made(request):
            return httpx.Response(200, json=[stamp_of(item["hash"]) for item in json.loads(request.content)])

        refused = httpx.Response(429, json=refusal("rate_limited"), headers={"retry-after": "3600"})
        seen, options = answering(made, refused)
        outcomes = qstamp.Qstamp(url, **options).stamp_many([HASH] * 1200, idempotency_key="run")
        self.assertEqual([outcome.made is not None for outcome in outcomes], [True] * 500 + [False] * 700)
        self.assertIsInstance(outcomes[-1].error, qstamp.RateLimited)
        self.assertEqual([request.headers["idempotency-key"] for request in seen], ["run:0", "run:1"])


class Options(unittest.TestCase):
    def test_address_and_token_come_from_the_environment_unless_they_are_given(self):
        with self.assertRaisesRegex(qstamp.QstampError, "give `url`, or set QSTAMP_URL"):
            qstamp.Qstamp()
        variables = {"QSTAMP_URL": "http://stamps.example/", "QSTAMP_TOKEN": "of the environment\n"}
        seen, options = answering(*[httpx.Response(201, json=stamp_of(HASH))] * 3)
        with unittest.mock.patch.dict(os.environ, variables):
            for given in ({}, {"service_token": "given"}, {"service_token": ""}):
                qstamp.Qstamp(**given, **options).stamp_hash(HASH)
        self.assertEqual([request.headers.get("x-service-token") for request in seen], ["of the environment", "given", None])
        self.assertEqual({request.url.host for request in seen}, {"stamps.example"})
        for token in ("…", "a\nb", "ä"):
            with self.assertRaisesRegex(qstamp.QstampError, "^the service token [^…]* has a character that no"):
                qstamp.Qstamp(url, service_token=token)

    def test_a_call_has_its_own_limits_and_headers(self):
        busy = httpx.Response(503, json=refusal("overloaded"), headers={"retry-after": "0"})
        seen, options = answering(*[busy] * 3)
        client = qstamp.Qstamp(url, default_headers={"X-Tenant": "one", "X-Run": "default"}, **options)
        once = client.with_options(timeout=7, max_retries=0, default_headers={"x-run": "7"})
        for call in (once.stamp_hash, once.later.stamp_hash):
            self.assertRaises(qstamp.Unavailable, call, HASH)
        workflow = client.open_workflow("id", "secret").with_options(timeout=7, max_retries=0)
        self.assertRaises(qstamp.Unavailable, workflow.later.stamp_text, "a")
        self.assertEqual({request.extensions["timeout"]["read"] for request in seen}, {7})
        for request, run in zip(seen, ("7", "7", "default")):
            sent = [request.headers[name] for name in ("x-tenant", "x-run", "user-agent")]
            self.assertEqual(sent, ["one", run, f"qstamp-python/{qstamp.__version__}"])
        seen, options = answering(*[busy] * 5)
        self.assertRaises(qstamp.Unavailable, qstamp.Qstamp(url, **options).stamp_hash, HASH)
        self.assertEqual((len(seen), seen[0].extensions["timeout"]["read"]), (5, 60))

    def test_an_answer_has_its_http_response(self):
        headers = {"x-request-id": "request-7", "x-more": "yes"}
        made = httpx.Response(201, json=stamp_of(HASH), headers=headers), httpx.Response(200, json=[stamp_of(HASH)], headers=headers)
        _, options = answering(*made)
        client = qstamp.Qstamp(url, **options)
        stamp = client.stamp_hash(HASH)
        response = stamp.last_response
        self.assertEqual((response.status, response.request_id, response.headers["x-more"]), (201, "request-7", "yes"))
        self.assertNotIn("last_response", dataclasses.asdict(stamp))
        self.assertEqual(client.stamp_many([HASH])[0].result().last_response.request_id, "request-7")

    def test_on_attempt_gets_each_try_without_secrets(self):
        attempts = []
        busy = httpx.Response(503, json=refusal("overloaded"), headers={"retry-after": "0", "x-request-id": "request-2"})
        made = httpx.Response(201, json=stamp_of(HASH), headers={"x-request-id": "request-3"})
        _, options = answering(httpx.ReadError("secret"), busy, made)
        qstamp.Qstamp(url, service_token="token-1", on_attempt=attempts.append, **options).stamp_hash(HASH)
        told = [(each.attempt, each.status, each.request_id, each.error) for each in attempts]
        self.assertEqual(told, [(1, None, None, "ReadError"), (2, 503, "request-2", None), (3, 201, "request-3", None)])
        self.assertEqual({(each.method, each.path) for each in attempts}, {("POST", "/api/v1/internal/v1/stamp")})
        self.assertTrue(all(each.duration >= 0 for each in attempts))

    def test_a_fault_in_on_attempt_does_not_break_the_call(self):
        _, options = answering(httpx.Response(201, json=stamp_of(HASH)))
        with self.assertLogs("qstamp") as logs:
            made = qstamp.Qstamp(url, on_attempt=lambda _: 1 / 0, **options).stamp_hash(HASH)
        self.assertEqual((made.content_sha256, len(logs.output)), (HASH, 1))

    def test_403_is_forbidden_and_410_is_gone(self):
        for status, kind in ((403, qstamp.Forbidden), (410, qstamp.Gone)):
            _, options = answering(httpx.Response(status, json=refusal("gone")))
            with self.assertRaisesRegex(kind, f"^{status}: A sentence.$") as raised:
                qstamp.Qstamp(url, **options).stamp_hash(HASH)
            self.assertEqual(raised.exception.request_id, "request-1")


class Proxies(unittest.TestCase):
    def test_the_proxies_of_the_environment_are_used(self):
        asked = []

        class Proxy(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                asked.append(self.path)
                body = json.dumps(stamp_of(HASH)).encode()
                self.send_response(201)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        with unittest.mock.patch.dict(os.environ, {"HTTP_PROXY": f"http://127.0.0.1:{proxy.server_port}"}):
            with qstamp.Qstamp("http://stamps.example") as client:
                client.stamp_hash(HASH)
        proxy.shutdown()
        self.assertEqual(asked, ["http://stamps.example/api/v1/agent/v1/stamp/basic?details=true"])


class Evidence(unittest.TestCase):
    def test_the_stamps_of_a_product_are_listed(self):
        with connect() as client:
            stamp = client.stamp_text("listed")
            newest = next(iter(client.list_stamps()))
            self.assertEqual((newest.token_id, newest.content_sha256), (stamp.token_id, stamp.content_sha256))
        with qstamp.Qstamp(url) as agent:
            self.assertRaises(qstamp.Unauthorized, next, agent.list_stamps())

    def test_a_stamp_that_a_new_one_moves_to_the_next_page_comes_once(self):
        ids = [f"{number:05}" for number in range(1200, 0, -1)]

        def page(request):
            offset, limit = (int(request.url.params[name]) for name in ("offset", "limit"))
            members = {"issued_at": "", "tier": "basic", "content_sha256": HASH, "is_qualified": False}
            items = [{"token_id": each, **members} for each in ids[offset : offset + limit]]
            ids.insert(0, f"1000{len(seen)}")
            return httpx.Response(200, json={"items": items, "total": len(ids)})

        seen, options = answering(*[page] * 3)
        listed = [each.token_id for each in qstamp.Qstamp(url, service_token="x", **options).list_stamps(imprints="all")]
        self.assertEqual((listed, len(seen)), (ids[3:], 3))
        self.assertEqual({request.url.params["imprints"] for request in seen}, {"all"})

    def test_token_and_evidence_record_are_fetched(self):
        batch = httpx.Response(200, content=b"root", headers={"qstamp-batch": "x"})
        seen, options = answering(httpx.Response(200, content=b"token"), batch, httpx.Response(200, content=b"record"))
        client = qstamp.Qstamp(url, **options)
        self.assertEqual((client.fetch_token("alone"), client.fetch_token("one/of many")), (b"token", b"record"))
        self.assertEqual(seen[2].url.raw_path, b"/api/v1/verify/v1/token/one%2Fof%20many/evidence")
        told = {"valid": True, **dict.fromkeys(["token_id", "issued_at", "content_sha256", "tsp_provider", "is_qualified", "reason"])}
        seen, options = answering(httpx.Response(200, json=told))
        self.assertTrue(qstamp.Qstamp(url, **options).verify_token(b"token", sha256=HASH))
        self.assertEqual(json.loads(seen[0].content), {"token": "dG9rZW4=", "hash": HASH})
        with connect() as mock:
            self.assertRaises(qstamp.NotFound, mock.fetch_token, mock.stamp_text("a").token_id)

    def test_content_is_sent_unchanged_to_renew_the_evidence_also_in_a_retry(self):
        answer = {"token_id": "id", "imprint": {"algorithm": "sha512", "digest": "ab"}, "is_renewed": False}
        bodies = []

        def busy(request):
            bodies.append(request.read())
            return httpx.Response(503, json=refusal("overloaded"), headers={"retry-after": "0"})

        def renewed(request):
            bodies.append(request.read())
            return httpx.Response(202, json=answer)

        content = os.urandom(3_000_000)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "report.pdf")
            path.write_bytes(content)
            for given in (lambda: path, lambda: content, lambda: io.BytesIO(content)):
                seen, options = answering(busy, renewed)
                renewal = qstamp.Qstamp(url, service_token="secret", **options).renew_evidence("id", given())
                self.assertEqual(renewal.imprint, qstamp.Imprint(algorithm="sha512", digest="ab"))
                sent = [seen[1].headers[name] for name in ("content-type", "x-service-token")]
                self.assertEqual(sent, ["application/octet-stream", "secret"])
            self.assertEqual({len(bodies), *bodies}, {6, content})
            # The service takes a file that comes in parts: it refuses only the stamp.
            with connect() as client:
                self.assertRaises(qstamp.ServiceError, client.renew_evidence, client.stamp_text("a").token_id, path)

            async def tell():
                async with qstamp.AsyncQstamp(url, service_token=service_token) as client:
                    stamp = await client.stamp_text("a")
                    with self.assertRaises(qstamp.ServiceError):
                        await client.renew_evidence(stamp.token_id, path)

            asyncio.run(tell())

    def test_a_bundle_is_written_to_a_path_or_an_open_file(self):
        with tempfile.TemporaryDirectory() as folder, connect() as client:
            path = pathlib.Path(folder, "evidence.zip")
            with client.workflow(**START) as workflow:
                workflow.stamp_text("one")
                self.assertRaises(qstamp.ServiceError, client.fetch_bundle, workflow.id, path)
            self.assertFalse(path.exists())
            self.assertIn("@", workflow.started.otp_sent_to)
            client.fetch_bundle(workflow.id, path)
            self.assertIn("verify.py", zipfile.ZipFile(path).namelist())
            there = io.BytesIO()

            async def tell():
                async with qstamp.AsyncQstamp(url) as client:
                    await client.fetch_bundle(workflow.id, there)

            asyncio.run(tell())
            self.assertEqual(zipfile.ZipFile(there).testzip(), None)

        class Broken(httpx.SyncByteStream):
            def __iter__(self):
                yield b"a"
                raise httpx.ReadError("cut")

        _, options = answering(httpx.Response(200, stream=Broken()), httpx.Response(200, stream=Broken()))
        self.assertRaises(qstamp.ServiceUnreachable, qstamp.Qstamp(url, **options).fetch_bundle, "id", io.BytesIO())
        with tempfile.TemporaryDirectory() as folder:
            kept = pathlib.Path(folder, "evidence.zip")
            kept.write_bytes(b"whole")
            self.assertRaises(qstamp.ServiceUnreachable, qstamp.Qstamp(url, **options).fetch_bundle, "id", kept)
            self.assertEqual(kept.read_bytes(), b"whole")


class Webhooks(unittest.TestCase):
    secret = "whsec_" + "c2VjcmV0IG9mIHRoZSB0ZXN0cw=="
    body = '{"type": "stamp.made"}'

    def signed(self, sent_at):
        signature = Webhook(self.secret).sign("msg_1", datetime.datetime.fromtimestamp(sent_at, datetime.timezone.utc), self.body)
        return {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(int(sent_at)), "Webhook-Signature": f"v1a,AAAA {signature}"}

    def test_what_the_reference_signs_is_taken(self):
        headers = self.signed(time.time())
        for body, secret in ((self.body, self.secret), (self.body.encode(), ["whsec_b3RoZXI=", self.secret])):
            self.assertEqual(qstamp.verify_webhook(body, headers, secret=secret), {"type": "stamp.made"})

    def test_everything_else_is_refused(self):
        headers, now = self.signed(1_700_000_000), 1_700_000_000
        cases = [
            (self.body + " ", headers, self.secret, now),
            (self.body, {**headers, "Webhook-Id": "msg_2"}, self.secret, now),
            (self.body, headers, "whsec_b3RoZXI=", now),
            (self.body, headers, [], now),
            (self.body, headers, self.secret, now + 301),
            (self.body, headers, self.secret, now - 301),
            (self.body, {**headers, "Webhook-Signature": "v1,%%% v2,AAAA"}, self.secret, now),
            (self.body, {**headers, "Webhook-Timestamp": "１７"}, self.secret, now),
            (self.body, {}, self.secret, now),
        ]
        self.assertEqual(qstamp.verify_webhook(self.body, headers, secret=self.secret, now=now), {"type": "stamp.made"})
        for body, sent, secret, clock in cases:
            with self.assertRaises(qstamp.WebhookRefused):
                qstamp.verify_webhook(body, sent, secret=secret, now=clock)


class Readme(unittest.TestCase):
    def printed_by(self, document: pathlib.Path) -> list[str]:
        quickstart = re.search(r"```python\n(.*?)```", document.read_text(), re.S).group(1)
        program = quickstart.replace("http://127.0.0.1:8080", url).replace("dev-service-token", service_token)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("report.pdf", "summary.pdf"):
                pathlib.Path(folder, name).write_text(name)
            ran = subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, capture_output=True, text=True)
        return ran.stdout.splitlines()

    def test_the_quickstart_runs(self):
        stamped, page = self.printed_by(pathlib.Path(readme))
        self.assertRegex(stamped, r"^\d{4}-.*Z http:\S+$")
        self.assertIn("my-agent", httpx.get(page).text)

    def test_the_project_begins_with_five_lines_that_run(self):
        (said,) = self.printed_by(pathlib.Path(readme).parents[2] / "README.md")
        self.assertIn("Record closed", httpx.get(said.removeprefix("Give this page to your client: ")).text)


class ScriptedModel(http.server.BaseHTTPRequestHandler):
    """Speaks chat completions: has one file written, and then says that it is done."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        called = {"name": "write_file", "arguments": json.dumps({"name": "../../haiku.txt", "content": "Steel over water\n"})}
        first = {"role": "assistant", "content": None, "tool_calls": [{"id": "call-1", "type": "function", "function": called}]}
        message = first if len(asked["messages"]) == 1 else {"role": "assistant", "content": "It is written."}
        body = json.dumps({"choices": [{"message": message}]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Examples(unittest.TestCase):
    def test_the_loop_stamps_every_output_of_a_run(self):
        model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel)
        threading.Thread(target=model.serve_forever, daemon=True).start()
        settings = {"QSTAMP_URL": url, "CLIENT_EMAIL": "client@example.com", "MODEL": "scripted"}
        env = {**os.environ, **settings, "MODEL_URL": f"http://127.0.0.1:{model.server_port}"}
        loop = [sys.executable, str(pathlib.Path(examples, "agent-loop/agent-loop.py")), "Write a haiku."]
        with tempfile.TemporaryDirectory() as folder:
            ended = subprocess.run(loop, cwd=folder, env=env, capture_output=True, text=True)
            self.assertEqual((ended.returncode, ended.stderr[-500:]), (0, ""))
            written = pathlib.Path(folder, "outputs/haiku.txt").read_bytes()
        model.shutdown()
        page, answer = ended.stdout.splitlines()
        self.assertEqual(answer, "It is written.")
        outputs = httpx.get(f"{page}/outputs.json").json()["outputs"]
        expected = [hashlib.sha256(each).hexdigest() for each in (written, answer.encode())]
        self.assertEqual([output["output_hash"] for output in outputs], expected)
        self.assertEqual(httpx.get(f"{url}/api/v1/workflow/{page.split('/')[-1]}").json()["status"], "completed")


class Lines(unittest.TestResult):
    def addSuccess(self, test):
        print(f"{test.id().removeprefix('__main__.')}: ok", flush=True)

    def addError(self, test, err):
        super().addError(test, err)
        print(f"{test.id().removeprefix('__main__.')}: {self._exc_info_to_string(err, test)}", flush=True)

    addFailure = addError


result = Lines()
unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]).run(result)
sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)
