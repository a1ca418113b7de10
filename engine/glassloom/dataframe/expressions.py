"""Expressions of column names as text, of `query` and `eval`: what they ask of all rows, such as ``x.mean()``, is made lazily before.

Partitions evaluate the rest by pandas.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from types import FrameType
from typing import Any

import pandas as pd

from glassloom.dataframe.call import Method
from glassloom.dataframe.nodes import BlockOp
from glassloom.dataframe.wrap import is_node, operate

_VARIABLE = re.compile(r"@(\w+)")
_COLUMN = re.compile(r"`([^`]+)`")
_STAND_IN = re.compile(r"__(variable|column)_(\w+?)__")

_ROW_BY_ROW = frozenset(
    [
        "isin", "between", "isna", "isnull", "notna", "notnull", "abs", "round", "fillna", "astype", "clip", "map", "replace", "where",
        "mask", "eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "radd", "rsub", "rmul",
        "rdiv", "rtruediv", "rfloordiv", "rmod", "rpow", "rename",
    ]
)  # fmt: skip
"""Methods of series whose result for a row follows from that row."""
_ACCESSORS = frozenset(["str", "dt", "cat"])


def evaluated(
    frame: Any, method: str, expr: str, kwargs: Mapping[str, Any], caller: FrameType, kind: type[BlockOp]
) -> Any:
    """Return what `query` or `eval` makes of a lazy frame.

    Parameters
    ----------
    frame, method, expr, kwargs
        The frame, the name of its method, and what that is given.
    caller
        Whose variables the expression may name as ``@name``.
    kind
        The class of the result's node.

    Raises
    ------
    UndefinedVariableError
        As pandas has it, if a variable isn't there.
    """
    lines = [line for line in expr.splitlines() if line.strip()] if method == "eval" else []
    if len(lines) > 1:  # each of them assigns a column, of which the next ones may need all rows
        for line in lines:
            frame = evaluated(frame, method, line, kwargs, caller, kind)
        return frame
    options, known = _with_variables(expr, kwargs, caller)
    text, found = _of_all_rows(frame, expr, known)
    whole = found.get(text.strip().removeprefix("@"))
    if whole is not None:  # which may have other rows than the frame
        return frame[whole] if method == "query" else whole
    lazy = {**{name: value for name, value in known.items() if is_node(value)}, **found}
    known = {name: value for name, value in known.items() if name not in lazy}
    options |= {"local_dict": known} if known else {}
    if not lazy:
        return operate(Method(method), frame, expr, kind=kind, kwargs=options)
    function = partial(_evaluated, method, text, tuple(lazy), options)
    return operate(function, frame, *lazy.values(), kind=kind, label=method)


def _evaluated(
    method: str, text: str, names: tuple[str, ...], options: dict[str, Any], block: Any, *values: Any
) -> Any:
    known = {**options.get("local_dict", {}), **dict(zip(names, values, strict=True))}
    return getattr(block, method)(text, **{**options, "local_dict": known})


def _with_variables(expr: str, kwargs: Mapping[str, Any], caller: FrameType) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of `pandas.eval`, and the variables of the caller that an expression names."""
    known = {**dict(kwargs.get("global_dict") or {}), **dict(kwargs.get("local_dict") or {})}
    for name in _VARIABLE.findall(expr):
        if name in known:
            continue
        for scope in (caller.f_locals, caller.f_globals):
            if name in scope:
                known[name] = scope[name]
                break
        else:
            raise pd.errors.UndefinedVariableError(name, True)
    return {name: value for name, value in kwargs.items() if name not in ("global_dict", "local_dict", "level")}, known


def _of_all_rows(frame: Any, expr: str, known: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the expression with variables in place of what is made of all rows, and those lazy values."""
    columns = _COLUMN.findall(expr)
    text = _VARIABLE.sub(r"__variable_\1__", expr)
    for number, name in enumerate(columns):
        text = text.replace(f"`{name}`", f"__column_{number}__")
    try:
        tree = ast.parse(text.strip())
    except SyntaxError:  # pandas says what is wrong
        return expr, {}
    text = text.strip()
    names = _Names(frame, columns, known)
    found: dict[str, Any] = {}
    for node in reversed(list(_calls(tree, {name for name, value in known.items() if is_node(value)}))):
        try:
            value = eval(compile(ast.Expression(node), "<expression>", "eval"), {"__builtins__": {}}, names)
        except NameError:  # pandas says which name isn't there
            continue
        if pd.api.types.is_list_like(value) and not is_node(value):  # of a function that knows no lazy values
            continue
        name = f"of_all_rows_{len(found)}"
        found[name] = value
        begin, end = _place(text, node.lineno, node.col_offset), _place(text, node.end_lineno, node.end_col_offset)
        text = f"{text[:begin]}__variable_{name}__{text[end:]}"

    def original(match: re.Match[str]) -> str:
        return f"@{match[2]}" if match[1] == "variable" else f"`{columns[int(match[2])]}`"

    return _STAND_IN.sub(original, text), found


def _place(text: str, line: int | None, column: int | None) -> int:
    """Return the place in a text of a line and column of its syntax tree, which counts bytes of UTF-8."""
    lines = text.split("\n")
    before = sum(len(one) + 1 for one in lines[: (line or 1) - 1])
    return before + len(lines[(line or 1) - 1].encode()[: column or 0].decode())


def _calls(node: ast.AST, lazy: Collection[str]) -> Iterator[ast.Call]:
    """Yield the calls that need all rows, first to last; not those inside of others. `lazy` are the variables with lazy values."""
    if isinstance(node, ast.Call) and _needs_all_rows(node, lazy):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, lazy)


def _needs_all_rows(call: ast.Call, lazy: Collection[str]) -> bool:
    """Whether a call is of a method that needs all rows, or of a function of the caller's with columns: which may."""
    method = call.func
    root: ast.AST = method
    while isinstance(root, ast.Attribute):
        root = root.value
    variable = _variable(root)
    if variable is not None and variable not in lazy:
        names = [name for part in (*call.args, *call.keywords) for name in ast.walk(part) if isinstance(name, ast.Name)]
        return any(_variable(name) is None or _variable(name) in lazy for name in names)
    if not isinstance(method, ast.Attribute):
        return False
    if isinstance(method.value, ast.Attribute) and method.value.attr in _ACCESSORS:
        return (method.value.attr, method.attr) == ("str", "cat")
    return method.attr not in _ROW_BY_ROW


def _variable(node: ast.AST) -> str | None:
    """Return the name of the caller's variable that a node stands for, if it does."""
    match = _STAND_IN.fullmatch(node.id) if isinstance(node, ast.Name) else None
    return match[2] if match and match[1] == "variable" else None


class _Names(dict[str, Any]):
    """The names in an expression: columns, the index, and the caller's variables."""

    def __init__(self, frame: Any, columns: list[str], known: Mapping[str, Any]) -> None:
        super().__init__()
        self._frame, self._columns, self._known = frame, columns, known

    def __missing__(self, name: str) -> Any:
        if match := _STAND_IN.fullmatch(name):
            return self._known[match[2]] if match[1] == "variable" else self._frame[self._columns[int(match[2])]]
        if name in self._frame.columns:
            return self._frame[name]
        if name == "index" or (name == self._frame.index.name and name is not None):
            return self._frame.index
        raise KeyError(name)
