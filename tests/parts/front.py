"""A server before a schema registry, for what the registry at hand does not do itself: access, TLS, descriptors, GUIDs."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import re
import threading
import urllib.error
import urllib.request

from tests.parts import protoc


def serialized(path: str, answer: bytes) -> bytes:
    """Give Protobuf schemas as descriptors where they are asked for so, as Confluent's own registry does."""
    if "format=serialized" not in path:
        return answer
    said = json.loads(answer)
    said["schema"] = base64.b64encode(protoc.descriptor(said["schema"])).decode()
    return json.dumps(said).encode()


@contextlib.contextmanager
def front(
    target, accepts=lambda headers: True, context=None, rewrite=lambda path, answer: answer, route=lambda path: path
):
    """An HTTP server before a real registry: it looks at headers, can want TLS, can change answers.

    Yields its URL and the paths and headers that it saw.
    """
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do(self):
            seen.append((self.path, dict(self.headers)))
            if not accepts(self.headers):
                self.answer(401, b'{"error_code":40101,"message":"who are you"}')
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
            path = route(self.path).removeprefix("/api/v1/confluent")
            request = urllib.request.Request(target + path, body, method=self.command)
            request.add_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            try:
                with urllib.request.urlopen(request) as answer:
                    self.answer(answer.status, rewrite(self.path, answer.read()))
            except urllib.error.HTTPError as error:
                self.answer(error.code, error.read())

        def answer(self, status, body):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

        do_GET = do_POST = do_PUT = do

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme = "http"
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"{scheme}://localhost:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()


def with_guids(path: str, answer: bytes) -> bytes:
    """Give each schema a GUID, made of its id, as newer registries of Confluent do."""
    said = json.loads(answer)
    if isinstance(said, dict) and "id" in said:
        said["guid"] = guid(said["id"])
    return json.dumps(said).encode()


def guid(number: int) -> str:
    return f"00000000-0000-0000-0000-{number:012d}"


def of_guid(path: str) -> str:
    """The path that the registry knows for the path of a GUID."""
    found = re.match(r"(.*)/schemas/guids/[0-9-]*?0*(\d+)(\?.*)?$", path)
    return f"{found[1]}/schemas/ids/{found[2]}" if found else path
