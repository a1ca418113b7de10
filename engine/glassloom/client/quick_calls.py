"""`QuickCalls`: calls of functions with plain arguments, one by one: what `FunctionCalls` and `CallEncoder` make of them, made in fewer steps."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from glassloom.client.validation import check_key
from glassloom.errors import SerialisationError
from glassloom.graph import Key, Origin, function_label, random_token, task_function, token_of_plain_call, user_origin
from glassloom.graph.caller_options import CallerOptions, caller_options
from glassloom.graph.keys import key_layer
from glassloom.graph.origin import notebook_execution
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.calls import (
    PickledCall,
    function_token,
    known_call,
    pickle_plain,
    pickled_call,
    plain_shape,
)
from glassloom.protocol.merging import PlainTask, TaskTemplate

_FRAMES_ABOVE = 3
"""`QuickCalls.task` is called by `Client.submit`: that calls it is the first frame that may be the user's."""


class _LastCall(NamedTuple):
    """The last pure call: of which function and shape it was, with its token, and what tells whether that is still right."""

    function: Callable[[], object]
    shape: tuple[Any, ...]
    options: CallerOptions | None
    token: str
    call: PickledCall
    still_holds: Callable[[], bool]


class _LastTemplate(NamedTuple):
    """The last template, and what it was made of."""

    template: TaskTemplate
    call: PickledCall
    layer: str
    origin: Origin | None
    handling: Annotations
    execution: int


class QuickCalls:
    """Makes tasks of calls that have only positional arguments. Any thread may call it.

    Calls of one function in a loop differ in their arguments only: what else there is to a task, its template, is made once.

    Parameters
    ----------
    number_of_call
        Returns the number by which the connection's head knows a pickled call.
    run_of_line
        Returns the number of the run of a line: see `Runs.of_line`.
    """

    def __init__(
        self, number_of_call: Callable[[bytes], int], run_of_line: Callable[[str, Origin | None], int]
    ) -> None:
        self._number_of_call = number_of_call
        self._run_of_line = run_of_line
        self._last_call: _LastCall | None = None
        self._last_template: _LastTemplate | None = None

    def task(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        key: Key | None,
        handling: Annotations,
        *,
        pure: bool,
    ) -> PlainTask | None:
        """Return a call as a task.

        Returns None if an argument is neither small and plain nor a future, or if something is wrong or unusual: then the
        general way makes the task, or says what is wrong. Both give it the same key.

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
        last, options = self._last_call, caller_options()
        if (
            last is not None
            and pure
            and last.function() is function
            and last.shape == shape
            and last.options is options
            and last.still_holds()
        ):
            token, call = last.token, last.call
        else:
            found = self._call(function, shape, options, pure=pure)
            if found is None:
                return None
            token, call = found
        if key is None:
            layer = function_label(function)
            suffix = random_token() if token is None else token_of_plain_call(token, args)
            if suffix is None:
                return None
            key = f"{layer}-{suffix}"
        else:
            check_key(key)
            layer = key_layer(key)
        template = self._template(call, layer, user_origin(_FRAMES_ABOVE), handling)
        return key, pickle_plain(values), below, template

    def _call(
        self, function: Callable[..., Any], shape: tuple[Any, ...], options: CallerOptions | None, *, pure: bool
    ) -> tuple[str | None, PickledCall] | None:
        """Return a function's token, None if the call isn't pure, and the call; None if the quick way can't make it."""
        known = known_call(function, shape if options is None else (shape, options.token)) if pure else None
        if known is not None:
            if known.made.futures:
                return None
            token = known.token if options is None else options.mixed_with(known.token)
            self._last_call = _LastCall(weakref.ref(function), shape, options, token, known.made, known.still_holds)
            return token, known.made
        own = function_token(function) if pure else None
        try:
            call = pickled_call(function, shape, own, options)
        except SerialisationError:
            return None
        return None if call.futures else (own if own is None or options is None else options.mixed_with(own), call)

    def _template(self, call: PickledCall, layer: str, origin: Origin | None, handling: Annotations) -> TaskTemplate:
        last = self._last_template
        execution = notebook_execution()  # the same line of a cell that runs again belongs to another run
        if (
            last is not None
            and last.call is call
            and last.layer == layer
            and last.origin is origin
            and last.handling is handling
            and last.execution == execution
        ):
            return last.template
        line = "" if origin is None else str(origin)
        run = self._run_of_line(line, origin)
        template = TaskTemplate(self._number_of_call(call.code), call.code, layer, line, handling, run)
        self._last_template = _LastTemplate(template, call, layer, origin, handling, execution)
        return template
