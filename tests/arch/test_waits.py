"""How tests wait: for what comes, a minute; for what is asserted of a living page, until it is so; never for a promise with Playwright's
`wait_for_function`, which takes it for true at once."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]


def promises_waited_for(source: str) -> list[str]:
    """Return the async scripts that `wait_for_function` is called with, also by the name of a constant."""
    if "wait_for_function" not in source:
        return []  # parsing all files takes 3 s
    tree = ast.parse(source)
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    waits = [call.args[0] for call in calls if getattr(call.func, "attr", "") == "wait_for_function"]
    scripts = [constants.get(arg.id) if isinstance(arg, ast.Name) else getattr(arg, "value", None) for arg in waits]
    return [script for script in scripts if isinstance(script, str) and script.lstrip().startswith("async")]


def test_promises_are_found():
    assert promises_waited_for('page.wait_for_function("async () => false")') == ["async () => false"]
    assert promises_waited_for('A = """async x => x"""\npage.wait_for_function(A, arg=1)') == ["async x => x"]
    assert promises_waited_for('page.wait_for_function("() => true")') == []


def test_no_test_waits_for_a_promise():
    found = {
        str(path.relative_to(TESTS)): promises
        for path in TESTS.rglob("*.py")
        if (promises := promises_waited_for(path.read_text()))
    }
    assert found == {}, "use page_waits.wait_until_true"


WAITS = {
    "Barrier", "acquire", "as_completed", "communicate", "eventually", "exception", "gather", "get", "join", "open", "result", "time_limit", "timeout",
    "urlopen", "wait", "wait_for", "wait_for_workers",
}  # fmt: skip


LIMIT_FIRST = {"exception", "join", "result", "time_limit", "timeout", "wait"}
"""Those whose first argument is the limit, of threads, events, futures and processes."""


_MAY_GIVE_UP = re.compile(
    r"\btimeout(_s)?\s*=\s*[1-5]\d(?!\d)|\b(eventually|wait_for|time_limit|timeout)\s*\(|\.(exception|join|result|wait)\([1-5]\d(?!\d)"
)


def impatient_waits(source: str) -> list[str]:
    """Return the calls that wait for what comes and give up after 10 s or more, but less than a minute: on a busy machine, some day."""
    if not _MAY_GIVE_UP.search(source):
        return []  # parsing all files takes 5 s
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [
        ast.unparse(call)
        for call in calls
        if any(
            isinstance(limit, ast.Constant) and isinstance(limit.value, int | float) and 10 <= limit.value < 60
            for limit in limits_s(call)
        )
    ]


def limits_s(call: ast.Call) -> Iterator[ast.expr]:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name in WAITS:
        yield from (keyword.value for keyword in call.keywords if keyword.arg in ("timeout", "timeout_s"))
        yield from call.args[1:2] if name in ("eventually", "wait_for") else ()
        yield from call.args[:1] if name in LIMIT_FIRST else ()


def test_impatient_waits_are_found():
    assert impatient_waits("future.result(timeout=20)") == ["future.result(timeout=20)"]
    assert impatient_waits("eventually(condition, 30)") == ["eventually(condition, 30)"]
    assert impatient_waits("asyncio.timeout(10.0)") == ["asyncio.timeout(10.0)"]
    assert impatient_waits("thread.join(30)") == ["thread.join(30)"]
    assert impatient_waits("assert event.wait(20)") == ["event.wait(20)"]
    assert impatient_waits("event.wait(60); event.wait(0.02); ','.join(names)") == []
    assert impatient_waits("future.result(timeout=60); future.result(timeout=0.1); future.result(); f(30)") == []
    assert impatient_waits("future.result(timeout=None)") == []


def test_no_test_gives_up_on_a_busy_machine():
    found = {
        str(path.relative_to(TESTS)): waits
        for path in TESTS.rglob("*.py")
        if (waits := impatient_waits(path.read_text()))
    }
    assert found == {}, "a minute, or less than 10 s where nothing is expected to come"


def requests_of_20_s(source: str) -> list[str]:
    """Return the requests of Tornado's, upgrades to WebSockets too, that say nothing of their time: it gives up after 20 s."""
    if "HTTPRequest" not in source:
        return []
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    made = [call for call in calls if getattr(call.func, "attr", getattr(call.func, "id", "")) == "HTTPRequest"]
    return [ast.unparse(call) for call in made if "request_timeout" not in [keyword.arg for keyword in call.keywords]]


def test_requests_of_20_s_are_found():
    assert requests_of_20_s("websocket_connect(HTTPRequest(url))") == ["HTTPRequest(url)"]
    assert requests_of_20_s("HTTPRequest(url, connect_timeout=60)") == ["HTTPRequest(url, connect_timeout=60)"]
    assert requests_of_20_s("HTTPRequest(url, request_timeout=60)") == []


def test_no_request_gives_up_while_a_process_is_started_for_it():
    found = {
        str(path.relative_to(TESTS)): made
        for path in TESTS.rglob("*.py")
        if path != Path(__file__) and (made := requests_of_20_s(path.read_text()))
    }
    assert found == {}, "request_timeout=60"


READ_ONCE = {
    "all_inner_texts", "all_text_contents", "bounding_box", "count", "get_attribute", "inner_html", "inner_text", "input_value", "is_checked",
    "is_disabled", "is_enabled", "is_hidden", "is_visible", "text_content",
}  # fmt: skip
"""What Playwright reads of an element at once."""


def hasty_assertions(source: str) -> list[str]:
    """Return the assertions of what was read of a page once, which may draw it a moment later, or anew."""
    if "playwright" not in source and "tab" not in source and "page" not in source:
        return []
    asserted = [node.test for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]
    return [ast.unparse(test) for test in asserted if any(is_read_once(node) for node in ast.walk(test))]


def is_read_once(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    return node.func.attr in READ_ONCE and (not node.args or node.func.attr == "get_attribute")


def test_hasty_assertions_are_found():
    assert hasty_assertions("assert tab.locator('p').count() == 2") == ["tab.locator('p').count() == 2"]
    assert hasty_assertions("assert button.is_hidden() and page") == ["button.is_hidden() and page"]
    assert hasty_assertions("expect(tab.locator('p')).to_have_count(2); assert tab.url.count('/') == 3") == []


def test_no_test_asserts_what_a_page_said_once():
    rooms = [path for room in ("dashboards", "e2e") for path in (TESTS / room).rglob("*.py")]
    found = {str(path.relative_to(TESTS)): hasty for path in rooms if (hasty := hasty_assertions(path.read_text()))}
    assert found == {}, "use Playwright's expect, or page_waits"
