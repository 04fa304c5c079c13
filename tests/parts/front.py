"""A server before a schema registry, for what the registry at hand does not do itself: access control, TLS, descriptors."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
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
def front(target, accepts=lambda headers: True, context=None, rewrite=lambda path, answer: answer):
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
            path = self.path.removeprefix("/api/v1/confluent")
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
