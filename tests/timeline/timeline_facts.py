"""Facts for tests: one of any class by hypothesis with few ids (so that they meet), and short logs in order."""

from collections.abc import Iterable, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel

from apex_tui.timeline.base import Fact
from apex_tui.timeline.events import AnyFact, Event

FACT_CLASSES: tuple[type[Fact], ...] = get_args(AnyFact)
WORDS = ("a", "b", "c", "Grüße", '"quoted"\n', "\ud800")


def log(*facts: AnyFact, step_ms: float = 20.0) -> list[Event]:
    """One event a fact, ``step_ms`` apart, the first at 0."""
    return [
        Event(seq=seq, media_ms=seq * step_ms, wall_ns=int(seq * step_ms * 1e6), fact=fact, actor=fact.actor)
        for seq, fact in enumerate(facts)
    ]


def _value(annotation: Any) -> st.SearchStrategy[Any]:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _value(args[0])
    if origin is Literal:
        return st.sampled_from(args)
    if origin in (Union, UnionType):
        return st.one_of([_value(arg) for arg in args])
    if origin is tuple:
        if args[-1] is Ellipsis:
            return st.lists(_value(args[0]), max_size=2).map(tuple)
        return st.tuples(*[_value(arg) for arg in args])
    if origin in (dict, Mapping):
        return st.dictionaries(st.sampled_from(WORDS[:3]), _value(args[1]), max_size=2)
    if annotation is Any:
        return st.sampled_from([None, 1, "x", {"k": [1, 2]}])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return model(annotation)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        str: st.sampled_from(WORDS),
        bool: st.booleans(),
        int: st.integers(0, 3),
        float: st.integers(0, 4000).map(lambda n: n / 4),
        type(None): st.none(),
    }
    return simple[annotation]


def model(cls: type[Any]) -> st.SearchStrategy[Any]:
    """Instances of a fact class (or of a part of one)."""
    fields = {name: _value(info.annotation) for name, info in cls.model_fields.items()}
    return st.fixed_dictionaries(fields).map(cls.model_validate)


any_fact: st.SearchStrategy[Any] = st.sampled_from(FACT_CLASSES).flatmap(model)


def as_log(facts: Iterable[AnyFact]) -> list[Event]:
    return log(*facts)


def any_log(max_size: int = 40) -> st.SearchStrategy[Sequence[Event]]:
    """Logs whose facts come in no sensible order."""
    return st.lists(any_fact, max_size=max_size).map(as_log)
