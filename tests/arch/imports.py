"""Which module imports which, by reading the source: also inside functions, also for type checkers only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "glassloom": ROOT / "engine" / "glassloom",
    "glassloom_metrics": ROOT / "engine" / "glassloom_metrics",
    "glassloom_dashboards": ROOT / "dashboards" / "glassloom_dashboards",
    "glassloom_server": ROOT / "server" / "glassloom_server",
}


@dataclass(frozen=True)
class Import:
    """One import: `module` imports `target`.

    ``kind`` is ``"top"`` (when the module is loaded), ``"function"`` (when a function runs) or ``"types"`` (only seen
    by type checkers).
    """

    module: str
    target: str
    kind: str
    line: int

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target} ({self.kind})"


@cache
def modules(package: str) -> dict[str, Path]:
    """Return the modules of one of our packages by dotted name."""
    root = PACKAGES[package]
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = [package, *path.relative_to(root).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(package: str) -> tuple[Import, ...]:
    """Return every import in a package."""
    return tuple(found for module, path in modules(package).items() for found in imports_in(module, path.read_text()))


def imports_in(module: str, source: str, *, is_package: bool | None = None) -> list[Import]:
    """Return the imports in one module's source; ``from package import module`` counts as the module if it is ours."""
    if is_package is None:
        package = module.partition(".")[0]
        is_package = package in PACKAGES and modules(package).get(module, Path()).name == "__init__.py"
    return list(_walk(ast.parse(source), module, "top", is_package))


def _walk(node: ast.AST, module: str, kind: str, is_package: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(module, alias.name, kind, child.lineno) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = _absolute(child, module, is_package)
            for alias in child.names:
                yield Import(module, _module_or_parent(base, alias.name), kind, child.lineno)
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _walk(child, module, "types" if kind == "types" else "function", is_package)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for statement in child.body:
                yield from _walk(ast.Module([statement], []), module, "types", is_package)
            for statement in child.orelse:
                yield from _walk(ast.Module([statement], []), module, kind, is_package)
        elif not isinstance(child, ast.expr):  # in an expression nothing is imported
            yield from _walk(child, module, kind, is_package)


def _absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    kept = parts[: len(parts) - node.level + is_package]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _module_or_parent(base: str, name: str) -> str:
    package = base.partition(".")[0]
    return f"{base}.{name}" if package in PACKAGES and f"{base}.{name}" in modules(package) else base


def is_inside(module: str, *packages: str) -> bool:
    """Tell whether a module is one of `packages`, or below one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other in a circle (strongly connected components, Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1 or node in edges.get(node, ()):
                found.append(sorted(group))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found
