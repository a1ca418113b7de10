"""Calls of functions with plain arguments, one by one: what `FunctionCalls` and `CallEncoder` make of them, made in fewer steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glassloom.client.validation import check_key
from glassloom.errors import SerialisationError
from glassloom.graph import Key, Origin, function_label, random_token, task_function, token_of_plain_call, user_origin
from glassloom.graph.keys import key_layer
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.calls import function_token, known_call, pickle_plain, pickled_call, plain_shape
from glassloom.protocol.merging import PlainTask


def quick_call(
    number_of_call: Callable[[bytes], int],
    run_of_line: Callable[[str, Origin | None], int],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    key: Key | None,
    handling: Annotations,
    *,
    pure: bool,
) -> PlainTask | None:
    """Return a call that has only positional arguments, as a task.

    `number_of_call` is that of the connection, `run_of_line` that of its runs.

    Returns None if an argument is neither small and plain nor a future, or if something is wrong or unusual: then the general
    way makes the task, or says what is wrong. Both give it the same key.

    Raises
    ------
    TypeError
        If `function` can't be called as a task.
    OptionError
        If `key` can't be one.
    """
    plain = plain_shape(args)
    if plain is None or not callable(function):
        return None
    shape, values, below = plain
    function = task_function(function)
    token: str | None
    token, call = (known_call(function, shape) if pure else None) or (function_token(function) if pure else None, None)
    if key is None:
        layer = function_label(function)
        suffix = random_token() if token is None else token_of_plain_call(token, args)
        if suffix is None:
            return None
        key = f"{layer}-{suffix}"
    else:
        check_key(key)
        layer = key_layer(key)
    if call is None:
        try:
            call = pickled_call(function, shape, token)
        except SerialisationError:
            return None
    if call.futures:
        return None
    origin = user_origin()
    line = "" if origin is None else str(origin)
    number = number_of_call(call.code)
    run = run_of_line(line, origin)
    return key, number, call.code, pickle_plain(values), below, layer, line, handling, run
