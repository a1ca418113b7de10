"""`Expr`: an immutable node of an expression. It doesn't rewrite or run anything."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Self, TypeVar

from glassloom.graph import Handle, HeldValue, Key, Origin, Task, TaskRef, tokenize, user_origin

_Node = TypeVar("_Node", bound="Expr")


class Expr:
    """A node: an operation and its operands, some of which are nodes themselves.

    Subclasses list the names of their operands in `parameters`; each becomes a read-only attribute. A node's `name`
    is made of its operation and a token of its operands, so equal nodes have equal names. Nodes are never changed:
    `rebuild` makes new ones.

    What is computed of the operands (shape, dtype, divisions...) belongs into `functools.cached_property`s, and what
    the user did wrong is reported by ``validate``, which runs when a node is made.
    """

    parameters: ClassVar[tuple[str, ...]] = ()
    operation: ClassVar[str] = ""
    """What a person calls it; the class name in lower case unless set."""
    is_opaque: ClassVar[bool] = False
    """Whether no rule, pass or fusion concerns such nodes, and each of their tasks is needed if the node is."""

    operands: tuple[Any, ...]
    name: str
    origin: Origin | None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for position, parameter in enumerate(cls.parameters):
            if parameter not in cls.__dict__:
                setattr(cls, parameter, property(_operand_getter(position)))
        if "operation" not in cls.__dict__:
            cls.operation = cls.__name__.lower()

    def __init__(self, *operands: Any, origin: Origin | None = None) -> None:
        if len(operands) != len(self.parameters):
            raise TypeError(f"{type(self).__name__} takes {self.parameters}, got {len(operands)} operands")
        self.operands = operands
        self.origin = origin or user_origin()
        self.name = f"{self.label}-{self.token_of_operands()}"
        self.validate()

    def token_of_operands(self) -> str:
        """Return what tells this node from others of its operation."""
        return tokenize(type(self).__qualname__, *map(_identity, self.operands))

    @property
    def label(self) -> str:
        """The operation as shown in keys and dashboards; may depend on the operands."""
        return self.operation

    def validate(self) -> None:
        """Raise what is wrong with the operands; runs when the node is made."""

    def __repr__(self) -> str:
        operands = ", ".join(f"{p}={_short(o)}" for p, o in zip(self.parameters, self.operands, strict=True))
        return f"{type(self).__name__}({operands})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __glassloom_tokenize__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        """Return all nodes below as one list: chains may be deeper than Python's stack, and what is cached stays here."""
        return (_rebuilt, (_flattened(self),))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def pickled_operands(self) -> tuple[Any, ...]:
        """Return the operands as pickles have them; others that stand for the same, where that takes less."""
        return self.operands

    @property
    def pickled_bytes(self) -> int:
        """About how many bytes of data a pickle of this node alone carries."""
        return 0

    def renamed(self, name: str) -> Self:
        """Return the same node under another name, for a node that has replaced the one of that name."""
        return _made(type(self), self.operands, self.origin, name)

    @functools.cached_property
    def dependencies(self) -> list[Expr]:
        """The operands that are nodes, in order, also those inside a list or tuple operand."""
        found: list[Expr] = []
        for operand in self.operands:
            if isinstance(operand, Expr):
                found.append(operand)
            elif isinstance(operand, (list, tuple)):
                found.extend(item for item in operand if isinstance(item, Expr))
        return found

    def rebuild(self, operands: Sequence[Any]) -> Self:
        """Return a node of this class and origin with other operands."""
        return type(self)(*operands, origin=self.origin)

    def substitute(self, replacement: Callable[[Expr], Expr]) -> Self:
        """Return this node with each dependency replaced; itself if none changes."""
        changed = {id(old): new for old in self.dependencies if (new := replacement(old)) is not old}
        if not changed:
            return self
        return self.rebuild([_substituted(operand, changed) for operand in self.operands])

    # What a node must say in order to be run.

    def output_keys(self) -> list[Key]:
        """Return the keys of the node's blocks, in C order of their position."""
        raise NotImplementedError

    @property
    def n_tasks(self) -> int:
        """Number of tasks that this node alone makes, at most: found without making them."""
        return len(self.output_keys())

    def tasks(self) -> dict[Key, Task]:
        """Return the tasks of this node alone; they may refer to the keys of its dependencies."""
        raise NotImplementedError

    def tasks_in_shared_memory(self) -> dict[Key, Task]:
        """Return what `tasks` returns, for a runtime whose tasks read each other's results where they are."""
        return self.tasks()

    def aliases(self) -> dict[Key, Key]:
        """Return the keys of blocks that are blocks of a dependency, and whose: `tasks` makes none for them."""
        return {}

    def parts_of_results(self) -> dict[Key, tuple[Key, int]]:
        """Return the keys of blocks that are parts of results of a dependency's tasks: of which, and at which place."""
        return {}

    def only_task(self) -> Task | None:
        """Return the only task of a node without dependencies, if that is quicker than asking for `tasks`; else None."""
        return None

    def assemble(self, blocks: list[Any]) -> Any:
        """Return the concrete value made of the results of `output_keys`, in their order."""
        raise NotImplementedError

    def in_place(self, source: Expr) -> Expr:
        """Return a node with the same concrete value whose tasks write to it directly; `source` if there is none.

        Asked for only where tasks run in the caller's memory.

        Parameters
        ----------
        source
            What makes this node's blocks: the node itself, or what it was optimised to.
        """
        return source

    def persisted(self, held: Any = None, name: str | None = None) -> Expr:
        """Return a leaf of the same kind and metadata whose blocks are results that the runtime holds.

        Parameters
        ----------
        held
            Whatever keeps those results alive (futures, or a dict of results).
        name
            Its name, which its keys have too; default this node's. It is another one if the results were made with options of the caller's.
        """
        raise NotImplementedError


class Persisted:
    """What a persisted node holds: results by key, kept alive by `held`. Equal if its node's name is equal.

    It is an operand of the node. If the node's name or key is one, too, that parameter is called ``key_name`` or ``key``.

    With a client, `held` is its futures and the runtime knows the keys. Without, it is a dict of results, which
    `tasks` turns into graph entries.
    """

    __slots__ = ("held", "name")

    def __init__(self, name: str, held: Any) -> None:
        self.name = name
        self.held = held

    def __glassloom_tokenize__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        values = {key: value for key, value in (self.held or {}).items() if not isinstance(value, Handle)}
        return (Persisted, (self.name, values))  # futures mean nothing elsewhere

    def under(self, name: str) -> Persisted:
        """Return what holds the same results under another name."""
        return Persisted(name, {renamed_key(key, name): value for key, value in (self.held or {}).items()})

    def tasks(self, keys: Iterable[Key]) -> dict[Key, Task]:
        """Return tasks that yield the held results; none for those that a cluster holds."""
        held = self.held or {}
        return {
            key: Task(key, HeldValue(held[key])) for key in keys if key in held and not isinstance(held[key], Handle)
        }


def renamed_key(key: Key, name: str) -> Key:
    """Return the key of a block that is another node's of its place."""
    return name if isinstance(key, str) else (name, *key[1:])


def walk(roots: Iterable[Expr]) -> list[Expr]:
    """Return all nodes below `roots`, each once, dependencies before dependants. Doesn't recurse: chains may be long."""
    order: list[Expr] = []
    seen: set[str] = set()
    for root in roots:
        if root.name in seen:
            continue
        if root.dependencies:
            _walk_below(root, seen, order)
        else:  # there may be many such calls
            seen.add(root.name)
            order.append(root)
    return order


def _walk_below(root: Expr, seen: set[str], order: list[Expr]) -> None:
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
        elif node.name not in seen:
            seen.add(node.name)
            if below := node.dependencies:
                stack.append((node, True))
                stack.extend([(child, False) for child in reversed(below) if child.name not in seen])
            else:
                order.append(node)


class _At:
    """Stands for the node at a position of a pickle's list."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position

    def __reduce__(self) -> tuple[Any, ...]:
        return (_At, (self.position,))


_Record = tuple[type[Expr], tuple[Any, ...], Origin | None, str]


def _flattened(root: Expr) -> list[_Record]:
    """Return the nodes below and including `root`, dependencies first: class, operands, origin, name."""
    order = walk([root])
    places = {node.name: _At(position) for position, node in enumerate(order)}
    return [
        (
            type(node),
            _mapped(node.pickled_operands(), Expr, lambda below: places.get(below.name, below)),
            node.origin,
            node.name,
        )
        for node in order
    ]


def _rebuilt(records: list[_Record]) -> Expr:
    made: list[Expr] = []
    for kind, operands, origin, name in records:
        node = _made(kind, _mapped(operands, _At, lambda place: made[place.position]), origin, name)
        node.validate()  # which finds what would be looked for later, from the other end of a chain
        made.append(node)
    return made[-1]


def _made(kind: type[_Node], operands: tuple[Any, ...], origin: Origin | None, name: str) -> _Node:
    """Return a node as it was; no token is made of its operands."""
    node = kind.__new__(kind)
    node.operands, node.origin, node.name = operands, origin, name
    return node


def _mapped(value: Any, kind: type, function: Callable[[Any], Any]) -> Any:
    """Return a value with all that is of a class replaced, also inside lists, tuples, sets and dicts; itself if nothing is."""
    if isinstance(value, kind):
        return function(value)
    own = type(value)
    if own in (list, tuple, set):
        items = [_mapped(item, kind, function) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else own(items)
    if own is dict:
        values = {name: _mapped(item, kind, function) for name, item in value.items()}
        return value if all(values[name] is item for name, item in value.items()) else values
    return value


def ref(node: Expr, index: Sequence[int] = ()) -> TaskRef:
    """Return a reference to the block of `node` at `index`."""
    return TaskRef((node.name, *index))


def _operand_getter(position: int) -> Callable[[Expr], Any]:
    return lambda self: self.operands[position]


def _identity(operand: Any) -> Any:
    return operand.name if isinstance(operand, Expr) else operand


def _substituted(operand: Any, changed: dict[int, Expr]) -> Any:
    """Return an operand with the nodes replaced that `changed` has, by their identities; itself if none is."""
    if isinstance(operand, (list, tuple)):
        items = [changed.get(id(item), item) for item in operand]
        return operand if all(map(operator.is_, items, operand)) else type(operand)(items)
    return changed.get(id(operand), operand)


def _short(operand: Any) -> str:
    if isinstance(operand, Expr):
        return operand.name
    text = repr(operand)
    return text if len(text) <= 60 else text[:57] + "..."
