"""The running JupyterLab refuses whoever is not logged in, on every row of the route table."""

from __future__ import annotations

import http.client
import itertools
from urllib.parse import urlsplit

from glassloom_server.base_handlers import StreamHandler
from glassloom_server.routes import ROUTES
from jupyter_labs import TOKEN
from playwright.sync_api import expect

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}
LOGIN = {"Authorization": f"token {TOKEN}"}
FRAME = """source => {
  window.heard = [];
  onmessage = event => heard.push(`${event.origin} ${event.data.type}`);
  document.body.replaceChildren(Object.assign(document.createElement('iframe'), {src: source, width: 900, height: 600}));
}"""


def examples(cluster: str, handler: type = object) -> list[str]:
    """Return a path of each row of the route table, of those with such a handler."""
    return [route.example.replace("/c1", f"/{cluster}") for route in ROUTES if issubclass(route.handler, handler)]


def answer(lab, path: str, headers: dict[str, str], method: str = "GET") -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(lab.url).netloc, timeout=60)
    connection.request(method, f"/user/someone/{path}", headers=headers)
    return connection.getresponse()


def test_requests_without_a_login_are_refused(lab, publish_cluster):
    cluster = publish_cluster("nightly")
    for path, method in itertools.product(examples(cluster), ["GET", "POST", "DELETE"]):
        refused = answer(lab, path, {}, method)
        if refused.status == 302:
            assert refused.headers["Location"].startswith("/user/someone/login?"), path
        else:
            assert refused.status in {403, 405}, (method, path)


def test_upgrades_without_a_login_are_refused(lab, publish_cluster):
    for path in examples(publish_cluster("nightly")):
        assert answer(lab, path, UPGRADE).status in {403, 405}, path


def test_upgrades_with_the_token_are_let_in(lab, publish_cluster):
    for path in examples(publish_cluster("nightly"), StreamHandler):
        assert answer(lab, path, {**UPGRADE, **LOGIN}).status == 101, path


def test_a_front_end_on_another_host_that_has_no_cookie_frames_a_page_with_the_token(page, lab, publish_cluster):
    cluster = publish_cluster("nightly")
    front = lab.origin.replace("127.0.0.1", "localhost")
    source = f"{lab.url}glassloom/dash/{cluster}/overview?theme=dark&token={TOKEN}"
    page.goto(f"{front}/user/someone/login")  # any page of another origin
    page.evaluate(FRAME, source)
    page.wait_for_function("origin => window.heard.includes(`${origin} glassloom:alive`)", arg=lab.origin)
    frame = page.frame_locator("iframe")
    expect(frame.locator("html")).to_have_attribute("data-theme", "dark")
    page.locator("iframe").evaluate(
        "frame => frame.contentWindow.postMessage({type: 'glassloom:theme', theme: 'light'}, '*')"
    )
    expect(frame.locator("html")).to_have_attribute("data-theme", "light")
    # A link goes on with the token.
    frame.locator("html").evaluate("() => window.glassloom.openPage('runs')")
    expect(frame.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    expect(frame.locator("html")).to_have_attribute("data-opened", "")
    assert page.context.cookies(lab.url) == []


def test_the_dashboards_socket_and_its_directory_are_the_users_alone(lab, publish_cluster):
    answer(lab, f"glassloom/dash/{publish_cluster('nightly')}/status", LOGIN).read()
    (socket,) = lab.dashboards_sockets()
    assert socket.stat().st_mode & 0o777 == 0o600
    assert socket.parent.stat().st_mode & 0o777 == 0o700
