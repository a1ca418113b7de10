"""`FunctionCalls`: calls of one function, as `Client.submit` and `Client.map` make them, with their keys. Sends nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

from glassloom.client.link import Encoder
from glassloom.client.validation import check_key
from glassloom.graph import CallTokenizer, Key, function_label, random_token, task_function, user_origin
from glassloom.graph.caller_options import WithOptions, caller_options
from glassloom.graph.keys import key_layer
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.calls import function_token
from glassloom.worker.task_context import task_thread


class FunctionCalls(NamedTuple):
    """Calls of one function that share their keyword arguments.

    Attributes
    ----------
    token
        Of the function; empty if the calls aren't pure.
    keys, arguments
        One element a call.
    labels
        As `Graph.layer_texts`.
    """

    function: Callable[..., Any]
    token: str
    keys: list[Key]
    arguments: Sequence[tuple[Any, ...]]
    kwargs: Mapping[str, Any]
    labels: dict[str, tuple[str, str]]

    @classmethod
    def make(
        cls,
        function: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        kwargs: Mapping[str, Any],
        keys: Sequence[Key] | None,
        *,
        pure: bool,
    ) -> Self:
        """Return calls with the keys that they are given, or ones of their own: equal calls that are pure share one.

        Raises
        ------
        TypeError
            If `function` can't be called as a task.
        OptionError
            If a key can't be one.
        """
        if not callable(function):
            raise TypeError(f"func={function!r} can't be called; to send a value, use scatter()")
        function = task_function(function)
        token = function_token(function) if pure else ""
        options = caller_options()
        if options is not None:
            function, token = WithOptions(function, options.options), token and options.mixed_with(token)
        if keys is None:
            label = function_label(function)
            chosen, layers = _own_keys(label, token, arguments, kwargs), {label}
        else:
            for key in keys:
                check_key(key)
            chosen, layers = list(keys), set(map(key_layer, keys))
        origin = user_origin()
        labels = {} if origin is None else dict.fromkeys(layers, ("", str(origin)))
        return cls(function, token, chosen, arguments, kwargs, labels)

    def encode(self, encoder: Encoder, handling: Annotations) -> Any:
        """Return the message that asks for all of them."""
        return encoder.encode_calls(self.function, self.keys, self.arguments, self.kwargs, self.labels, handling)


def in_place(handling: Annotations) -> Annotations:
    """Return how to treat what the calling task, if there is one, submits: it goes before what is beside the task."""
    thread = task_thread()
    if thread is None:
        return handling
    return replace(handling, priority=min(thread.priority + 1 + handling.priority, 2**31 - 1))


def _own_keys(label: str, token: str, arguments: Sequence[tuple[Any, ...]], kwargs: Mapping[str, Any]) -> list[Key]:
    if token:
        return [f"{label}-{of_call}" for of_call in CallTokenizer(token, kwargs).tokenize_all(arguments)]
    prefix = f"{label}-{random_token()}"
    return [prefix] if len(arguments) == 1 else [f"{prefix}{number:x}" for number in range(len(arguments))]
