"""Expressions of column names as text, of `query` and `eval`: they are read as pandas reads them, and are operators and methods of lazy columns.

So a method may ask all rows, as ``x.mean()`` does, and what is compared with constants is known to the plan as if it had been written in Python.
"""

from __future__ import annotations

import ast
import datetime
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import FrameType
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import COMPARES_VARIABLES
from glassloom.collection import Collection
from glassloom.dataframe.keys_at_hand import is_lazy_scalar
from glassloom.dataframe.numbered_levels import level_at
from glassloom.dataframe.options import refused
from glassloom.dataframe.setting_rows import is_mask
from glassloom.dataframe.wrap import holds_lazy, is_node, operate, wrap

_PIECES = re.compile(
    r"""(?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|`(?P<column>[^`]*)`|@\s*(?P<variable>\w+)|(?P<operator>[&|])|\#[^\n]*""",
    re.DOTALL,
)
_STAND_IN = re.compile(r"__(variable|column)_(\w+)__")
_KNOWN: dict[str, Any] = {
    "Timestamp": pd.Timestamp, "datetime": datetime.datetime, "list": list, "tuple": tuple, "inf": np.inf, "Inf": np.inf,
}  # fmt: skip
"""What every expression may name as variables."""
_FUNCTIONS = frozenset([
    "sin", "cos", "tan", "exp", "log", "expm1", "log1p", "sqrt", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan",
    "arccosh", "arcsinh", "arctanh", "abs", "log10", "floor", "ceil", "arctan2",
])  # fmt: skip
"""Functions of NumPy that an expression may call by their bare names."""
_ROW_BY_ROW: tuple[Any, ...] = (np.where, np.isin, np.isclose, np.clip, np.round, np.nan_to_num)
"""Functions that aren't lazy of lazy columns, but whose result for a row follows from that row: they get partitions."""
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.And: operator.and_, ast.Or: operator.or_, ast.Gt: operator.gt, ast.Lt: operator.lt, ast.GtE: operator.ge,
    ast.LtE: operator.le, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert, ast.Not: operator.invert,
}  # fmt: skip
_MEMBERSHIPS = frozenset([ast.In, ast.NotIn])
_OPTIONS = frozenset(["parser", "engine", "local_dict", "global_dict", "resolvers", "level"])


def value_of(frame: Any, expr: str, kwargs: Mapping[str, Any], caller: FrameType) -> Any:
    """Return what `eval` makes of a lazy frame: a value, or the frame with the columns that the lines of the expression assign.

    Parameters
    ----------
    frame, expr, kwargs
        The frame, and what its method is given.
    caller
        Whose variables the expression may name as ``@name``.

    Raises
    ------
    UndefinedVariableError
        If a column or variable isn't there.
    """
    _require_text("eval", expr)
    lines = [line for line in expr.splitlines() if line.strip()]
    if not lines:
        _let_pandas_refuse(frame, "eval", expr)
    for line in lines:
        parsed = _Expression(frame, line, kwargs, caller, "eval")
        made = parsed.value(parsed.body)
        if parsed.target is not None:
            made = frame = wrap(frame._assigned({parsed.target: _at_hand(made)}))
        elif len(lines) > 1:
            raise ValueError(f"eval: {line!r} assigns no column; each of several lines must")
        elif parsed.is_of_arrays(made):
            made = made.values
    return made


def rows_where(frame: Any, expr: str, kwargs: Mapping[str, Any], caller: FrameType) -> Any:
    """Return what `query` makes of a lazy frame: the rows for which the expression holds. See `value_of`."""
    _require_text("query", expr)
    parsed = _Expression(frame, expr, kwargs, caller, "query")
    if parsed.target is not None:
        raise ValueError(f"query: {expr!r} assigns a column; == compares, and eval() assigns")
    condition = _at_hand(parsed.value(parsed.body))
    if not _is_condition(condition):
        kind = f"a lazy {type(condition).__name__}" if is_node(condition) else f"a {type(condition).__name__}"
        raise ValueError(
            f"query: {expr!r} makes {kind}, and no boolean for each row; loc[...] takes labels, and eval() returns values"
        )
    return frame[condition]


def _require_text(method: str, expr: Any) -> None:
    if not isinstance(expr, str):
        raise ValueError(f"{method}: expr={expr!r} should be the text of an expression, such as 'x > 1'")


def _is_condition(value: Any) -> bool:
    if not is_node(value):
        return is_mask(value)
    meta = value.expr.meta
    if isinstance(meta, pd.DataFrame):  # `where`, as in pandas
        return True
    has_rows = isinstance(meta, (pd.Series, pd.Index)) or (isinstance(meta, np.ndarray) and meta.ndim == 1)
    return has_rows and (pd.api.types.is_bool_dtype(meta.dtype) or meta.dtype == object)


class _Expression:
    """An expression, parsed, and the frame whose columns it names."""

    def __init__(self, frame: Any, expr: str, kwargs: Mapping[str, Any], caller: FrameType, method: str) -> None:
        _check_options(kwargs, method)
        self._frame, self._method, self._expr = frame, method, expr
        self._is_plain_python = kwargs.get("parser") == "python"
        self._resolvers: Sequence[Mapping[str, Any]] = kwargs.get("resolvers") or ()
        given = [dict(kwargs.get(name) or {}) for name in ("local_dict", "global_dict")]
        self._scopes = [*given, caller.f_locals, caller.f_globals, _KNOWN]
        self._columns: list[str] = []
        self._arrays: set[str] = set()
        self.target: Any = None
        self.body = self._parsed()

    def _parsed(self) -> ast.expr:
        """Return the syntax tree, with names that stand for variables, and for columns that are written in backticks."""
        text = (self._expr if self._is_plain_python else _PIECES.sub(self._stand_in, self._expr)).strip()
        try:
            (statement,) = ast.parse(text).body
        except (SyntaxError, ValueError):  # or there are several statements
            _let_pandas_refuse(self._frame, self._method, self._expr)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            (target,) = statement.targets
            if not isinstance(target, ast.Name) or _variable(target):
                raise SyntaxError(f"{self._method}: {self._expr!r} should assign to the name of a column")
            self.target = self._shown(target.id)
            if self.target != target.id:
                raise NotImplementedError(
                    f"{self._method}: {self._expr!r} assigns to a name in backticks, which pandas calls otherwise then; "
                    f"frame[{self.target!r}] = frame.eval(...) assigns it"
                )
        elif not isinstance(statement, ast.Expr):
            _let_pandas_refuse(self._frame, self._method, self._expr)
        return statement.value

    def _stand_in(self, piece: re.Match[str]) -> str:
        if piece["column"] is not None:
            self._columns.append(piece["column"])
            return f"__column_{len(self._columns) - 1}__"
        if piece["variable"] is not None:
            return f"__variable_{piece['variable']}__"
        return {"&": " and ", "|": " or "}.get(piece["operator"], piece[0])

    def _shown(self, name: str) -> str:
        """Return a name as it is written in the expression."""
        match = _STAND_IN.fullmatch(name)
        if match is None:
            return name
        return match[2] if match[1] == "variable" else self._columns[int(match[2])]

    def _label(self, name: str) -> tuple[Any] | None:
        """Return the label of the column of a name, in a tuple; None if there is none."""
        shown, columns = self._shown(name), self._frame.columns
        if shown in columns:
            return (shown,)
        is_quoted = _STAND_IN.fullmatch(name) is not None
        return next(((label,) for label in columns if is_quoted and str(label) == shown), None)

    def value(self, node: ast.expr) -> Any:
        """Return the value of a part of the expression, which is lazy if it is made of columns."""
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._named(node)
            case ast.List() | ast.Tuple():
                return [self.value(one) for one in node.elts]
            case ast.Attribute():
                return getattr(_at_hand(self.value(node.value)), node.attr)
            case ast.Subscript():
                if isinstance(node.slice, ast.Tuple):
                    raise NotImplementedError(
                        f"{self._method}: {ast.unparse(node)!r}: an expression takes one subscript"
                    )
                return self.value(node.value)[self.value(node.slice)]
            case ast.Slice():
                ends = (node.lower, node.upper, node.step)
                return slice(*(None if one is None else self.value(one) for one in ends))
            case ast.Call():
                return self._called(node)
        if self._is_plain_python and isinstance(node, ast.BoolOp):
            raise NotImplementedError(
                f"{self._method}(parser='python'): 'BoolOp' nodes are not implemented; write & and |"
            )
        return self._computed(node)

    def _computed(self, node: ast.expr) -> Any:
        """Return the value of operators and their operands."""
        match node:
            case ast.UnaryOp():
                return _OPERATORS[type(node.op)](_at_hand(self.value(node.operand)))
            case ast.BinOp() if type(node.op) in _OPERATORS:
                return self._combined(node.op, node.left, node.right)
            case ast.BoolOp():
                return reduce(_OPERATORS[type(node.op)], [_at_hand(self.value(one)) for one in node.values])
            case ast.Compare() if _OPERATORS.keys() | _MEMBERSHIPS >= set(map(type, node.ops)):
                operands = [node.left, *node.comparators]
                parts = zip(node.ops, operands, node.comparators, strict=False)
                return reduce(operator.and_, [self._combined(*part) for part in parts])
        what = type(getattr(node, "op", node)).__name__
        raise NotImplementedError(f"{self._method}: '{what}' nodes are not implemented: {ast.unparse(node)!r}")

    def _combined(self, op: ast.AST, left: ast.expr, right: ast.expr) -> Any:
        """Return what a binary operator makes."""
        is_membership = isinstance(op, (ast.In, ast.NotIn))
        if is_membership and isinstance(right, (ast.List, ast.Tuple)) and self._is_by_row(right):
            equal, join = (ast.Eq(), operator.or_) if isinstance(op, ast.In) else (ast.NotEq(), operator.and_)
            return reduce(join, [self._combined(equal, left, one) for one in right.elts])
        one, other = _at_hand(self.value(left)), _at_hand(self.value(right))
        is_equality = isinstance(op, (ast.Eq, ast.NotEq))
        if is_membership or (is_equality and _is_membership(left, one, right, other)):
            found = _among(one, other, f"{self._method}: {ast.unparse(left)} in {ast.unparse(right)}")
            return found if isinstance(op, (ast.In, ast.Eq)) else _negated(found)
        return _OPERATORS[type(op)](_beside(one, other), _beside(other, one))

    def _is_by_row(self, listed: ast.List | ast.Tuple) -> bool:
        """Whether each of a list is compared with each row: if there are columns; from pandas 3.1 on if there are variables, too."""
        names = [one for one in listed.elts if isinstance(one, ast.Name)]
        return bool(names) and (COMPARES_VARIABLES or any(is_node(self._named(one)) for one in names))

    def _called(self, node: ast.Call) -> Any:
        function = node.func
        args = [self.value(arg) for arg in node.args]
        kwargs = {one.arg: self.value(one.value) for one in node.keywords if one.arg is not None}
        if isinstance(function, ast.Name) and not self._is_known(function):
            if function.id not in _FUNCTIONS:
                raise ValueError(f'"{function.id}" is not a supported function; @{function.id}(...) calls one of yours')
            return getattr(np, function.id)(*map(_at_hand, args), **kwargs)
        if not isinstance(function, (ast.Name, ast.Attribute)) or getattr(function, "attr", "") == "__call__":
            raise TypeError(f"{self._method}: {ast.unparse(function)!r}(...): Only named functions are supported")
        called = self.value(function)
        if any(called is one for one in _ROW_BY_ROW) and holds_lazy((*args, *kwargs.values())):
            made = operate(_of_rows, called, *args, kwargs=kwargs, label=called.__name__)
            self._arrays.add(made.name)
            return made
        return called(*args, **kwargs)

    def is_of_arrays(self, made: Any) -> bool:
        """Whether a value is what a function makes that returns arrays."""
        return is_node(made) and made.name in self._arrays

    def _is_known(self, name: ast.Name) -> bool:
        return _variable(name) or self._label(name.id) is not None or any(name.id in one for one in self._resolvers)

    def _named(self, name: ast.Name) -> Any:
        """Return the value of a name: of a variable, a column, or an index."""
        shown, frame = self._shown(name.id), self._frame
        if _variable(name):
            for scope in self._scopes:
                if shown in scope:
                    return scope[shown]
            raise pd.errors.UndefinedVariableError(shown, True)
        for resolver in self._resolvers:
            if shown in resolver:
                return resolver[shown]
        if (label := self._label(name.id)) is not None:
            return frame[label[0]]
        index = frame.expr.meta.index
        levels = [f"ilevel_{level}" if one is None else one for level, one in enumerate(index.names)]
        if len(levels) > 1 and shown in levels:
            return operate(_level, frame, levels.index(shown), label="level")
        if shown == "index" or shown in levels:
            return frame.index if len(levels) > 1 else frame.index.to_series()
        if shown in ("inf", "Inf"):
            return np.inf
        raise pd.errors.UndefinedVariableError(shown)


def _check_options(kwargs: Mapping[str, Any], method: str) -> None:
    """Check what `query` and `eval` pass on.

    Raises
    ------
    TypeError, KeyError
        If an option isn't known, or has a value that pandas refuses.
    """
    for name in kwargs:
        if name == "target":
            raise refused(method, name, kwargs[name], "assign() or eval() of the frame that is to have the column")
        if name not in _OPTIONS:
            raise TypeError(
                f"{method}() got an unexpected keyword argument {name!r}; it takes {', '.join(sorted(_OPTIONS))}"
            )
    parser, engine = kwargs.get("parser", "pandas"), kwargs.get("engine")
    if parser not in ("pandas", "python"):
        raise KeyError(f"{method}: parser={parser!r} should be 'pandas' or 'python'")
    if engine not in (None, "python", "numexpr"):
        raise KeyError(f"{method}: engine={engine!r} should be None, 'python' or 'numexpr'; they are the same here")


def _let_pandas_refuse(frame: Any, method: str, expr: str) -> NoReturn:
    """Raise what pandas raises for an expression that can't be read."""
    getattr(frame.expr.meta, method)(expr)
    raise NotImplementedError(f"{method}: {expr!r} isn't supported: one expression is, or lines that assign columns")


def _variable(name: ast.Name) -> bool:
    """Whether a name stands for a variable of the caller."""
    return name.id.startswith("__variable_") and _STAND_IN.fullmatch(name.id) is not None


def _at_hand(value: Any) -> Any:
    """Return a value that operators take: lazy objects other than frames' are computed."""
    return value.compute() if isinstance(value, Collection) and not is_node(value) else value


def _dtype(value: Any) -> Any:
    """Return the dtype of what is lazy; None of other values."""
    return getattr(value.expr.meta, "dtype", None) if is_node(value) else None


def _beside(value: Any, other: Any) -> Any:
    """Return an operand as pandas takes it beside another one: text and dates as times, numbers as narrow as a column of them."""
    if is_lazy_scalar(value) and not is_node(other) and pd.api.types.is_list_like(other):
        return value.compute()  # of what is at hand
    dtype = _dtype(other)
    if dtype is None or not other.expr.has_rows:
        return value
    if getattr(dtype, "kind", "") == "M" and (isinstance(value, (str, datetime.date)) or _is_number(value)):
        time = pd.Timestamp(str(value) if _is_number(value) else value)  # a number as 20130131
        return time if time.tz is None else time.tz_convert("UTC")
    if dtype == np.float32 and isinstance(value, np.float64):
        return np.float32(value)
    if dtype == np.float32 and _dtype(value) == np.float64 and not value.expr.has_rows:
        return operate(np.float32, value, label="float32")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TERMS = (ast.Name, ast.Constant, ast.List, ast.Tuple, ast.Attribute, ast.Subscript, ast.Call)


def _is_membership(left: ast.expr, one: Any, right: ast.expr, other: Any) -> bool:
    """Whether pandas takes == as `in`: beside a list, or beside text if missing values would make a difference."""
    if not isinstance(left, _TERMS) or not isinstance(right, _TERMS):
        return False
    if isinstance(one, list) or isinstance(other, list):
        return True
    column = other if isinstance(one, str) else one
    if not isinstance(one, str) and not isinstance(other, str):
        return False
    dtype = _dtype(column)
    has_plain_missing = (
        pd.api.types.is_object_dtype(dtype)
        or isinstance(dtype, pd.CategoricalDtype)
        or getattr(dtype, "na_value", None) is np.nan
    )
    return dtype is not None and not has_plain_missing


def _among(one: Any, other: Any, what: str) -> Any:
    """Return whether values are among others, as pandas has ``in``."""
    one, other = ([value] if isinstance(value, str) else value for value in (one, other))
    if hasattr(one, "isin"):
        return one.isin(other)
    if pd.api.types.is_list_like(one) and hasattr(other, "isin"):
        return other.isin(one)
    if is_node(other):
        raise NotImplementedError(
            f"{what} asks pandas whether it is a label of a row: write it as column.isin([value]).any()"
        )
    return operate(operator.contains, other, one) if is_node(one) else one in other


def _negated(found: Any) -> Any:
    return not found if isinstance(found, bool) else ~found


def _of_rows(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Return what a function makes of a partition's columns, under their labels."""
    index = next(one.index for one in (*args, *kwargs.values()) if isinstance(one, pd.Series))
    return pd.Series(function(*args, **kwargs), index=index)


def _level(block: Any, number: int) -> Any:
    return pd.Series(level_at(block.index, number), index=block.index)
