"""Task graphs as plain data: tasks, keys and tokens. Knows nothing of collections or schedulers."""

from glassloom.graph.function_cache import FunctionCache
from glassloom.graph.functions import task_function
from glassloom.graph.graph import Graph, cull
from glassloom.graph.keys import Key, function_label, key_index, key_layer, key_text, layer_name
from glassloom.graph.lazy_registration import load_for, load_later
from glassloom.graph.origin import Origin, user_origin
from glassloom.graph.random_tokens import random_token
from glassloom.graph.task import Handle, HeldValue, Task, TaskRef, find_refs, resolve
from glassloom.graph.tokenize import CallTokenizer, extend_token, normalize_token, token_of_plain_call, tokenize

__all__ = [
    "CallTokenizer",
    "FunctionCache",
    "Graph",
    "Handle",
    "HeldValue",
    "Key",
    "Origin",
    "Task",
    "TaskRef",
    "cull",
    "extend_token",
    "find_refs",
    "function_label",
    "key_index",
    "key_layer",
    "key_text",
    "layer_name",
    "load_for",
    "load_later",
    "normalize_token",
    "random_token",
    "resolve",
    "task_function",
    "token_of_plain_call",
    "tokenize",
    "user_origin",
]
