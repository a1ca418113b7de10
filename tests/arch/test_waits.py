"""No test waits for a promise with Playwright's `wait_for_function`, which takes it for true at once."""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def promises_waited_for(source: str) -> list[str]:
    """Return the async scripts that `wait_for_function` is called with, also by the name of a constant."""
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
