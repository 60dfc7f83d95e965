"""Answers as plain objects: the fields of the JSON contract (doc/json.md) are attributes.

What the contract calls "only where ..." is None where it is not there. Fields that are added
later are attributes too. One whose name Python reserves (`from`) is an item: record["from"].
"""

import importlib
import io
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Type, Union

from . import _html

Path = Union[str, "os.PathLike[str]"]


def _wrap(value: Any, kind: Type["Record"]) -> Any:
    if isinstance(value, dict):
        return kind(value)
    if isinstance(value, list):
        return [_wrap(one, kind) for one in value]
    return value


def _unwrap(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, list):
        return [_unwrap(one) for one in value]
    return value


class Record:
    """An object of the answer: fields are attributes, and items by name."""

    #: Classes of fields that are objects, or lists of objects; others are plain records.
    _kinds: Dict[str, Type["Record"]] = {}

    def __init__(self, fields: Mapping[str, Any]) -> None:
        for name, value in fields.items():
            self.__dict__[name] = _wrap(value, self._kinds.get(name, Record))

    def keys(self) -> List[str]:
        """Names of the fields that are there, in the order of the answer."""
        return [name for name in self.__dict__ if not name.startswith("_")]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return self.__dict__[name]

    def get(self, name: str, otherwise: Any = None) -> Any:
        """A field, or something else where it is not there."""
        return self.__dict__.get(name, otherwise) if name in self else otherwise

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"no field {name} in {type(self).__name__}: {', '.join(self.keys())}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={self[name]!r}" for name in self.keys())
        return f"{type(self).__name__}({fields})"

    def to_dict(self) -> Dict[str, Any]:
        """The JSON document of it, as Python has it."""
        return {name: _unwrap(self.__dict__[name]) for name in self.keys()}


class Model(Record):
    """What is trained."""

    name: str
    params_total: int
    params_active: int


class Strategy(Record):
    """Every parameter by the name that `set` takes (doc/strategy.md)."""

    global_batch: int
    seq_len: int
    precision: str
    tp: int
    cp: int
    pp: int
    dp: int
    ep: int
    etp: int
    micro_batch: int
    vpp: int


class Breakdown(Record):
    """Seconds of one step on the busiest stage, exposed parts only."""

    compute: float
    recompute: float
    tp: float
    cp: float
    ep: float
    pp: float
    dp: float
    bubble: float
    optimizer: float


class Memory(Record):
    """Bytes of one GPU of the stage at its fullest moment."""

    weights: int
    gradients: int
    optimizer: int
    activations: int
    temporary: int
    buffers: int
    expert_reserve: int
    reserve: int
    context: int
    communicators: int


class Stage(Record):
    """One pipeline rank."""

    _kinds = {"memory": Memory}
    stage: int
    gpu: str
    gpus: int
    layers: int
    forward_s: float
    backward_s: float
    compute_step_s: float
    idle_s: float
    peak_bytes: int
    device_bytes: int
    limit_bytes: Optional[int] = None
    fits: bool
    fullest: str
    memory: Memory


class Money(Record):
    """Dollars of whole nodes; None where no price is known."""

    usd_per_hour: Optional[float]
    usd_per_mtoken: Optional[float]
    hours: Optional[float] = None
    usd_total: Optional[float] = None
    outages_per_h: Optional[float] = None
    slowdown: Optional[float] = None
    checkpoint_s: Optional[float] = None
    net_tokens_per_s: Optional[float] = None


class Engine(Record):
    """What launches a plan."""

    name: str
    flags: Optional[List[str]]
    untold: List[str]


class Plan(Record):
    """A strategy on its GPUs, and what it is predicted to do."""

    _kinds = {
        "model": Model,
        "strategy": Strategy,
        "breakdown": Breakdown,
        "stages": Stage,
        "money": Money,
        "engine": Engine,
    }
    model: Model
    gpu: str
    gpus: int
    cluster: str
    node_group: Optional[Record] = None
    node_groups: Optional[List[Record]] = None
    links: Any = None
    stack: str
    strategy: Strategy
    feasible: bool
    reasons: List[str]
    notes: Optional[List[str]] = None
    cautions: Optional[List[Record]] = None
    step_s: float
    tokens_per_s: float
    tokens_per_s_per_gpu: float
    tflops_per_gpu: float
    mfu: float
    expected_error: float
    samples_per_s: Optional[float] = None
    hours_per_epoch: Optional[float] = None
    spare_bytes: Optional[float] = None
    dataset: Optional[Record] = None
    task: Optional[Record] = None
    provenance: str
    complexity: Optional[int] = None
    evidence: Optional[Record] = None
    breakdown: Optional[Breakdown]
    stages: Optional[List[Stage]]
    limit_bytes: int
    expert_imbalance: Optional[Record] = None
    host_bytes_per_node: Optional[int]
    money: Money
    run: Optional[Record] = None
    engine: Engine
    residual: Any = None
    remedy: Optional[Record] = None
    gains: Optional[List[Record]] = None
    searched: Optional[Record] = None
    source: Optional[Record] = None
    defaults: Optional[str] = None
    instead: Optional[Record] = None
    assumed: Any = None
    hints: Optional[List[str]] = None
    why_not_instead: Optional[str] = None
    more_layers: Optional[List[Record]] = None
    splits: Optional[List[Record]] = None
    alone: Optional[List[Record]] = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {_html.layout(self)}>"

    def _repr_html_(self) -> str:
        return _html.plan(self)


class WhatIf(Record):
    """The answer with one input changed."""

    _kinds = {"plan": Plan}
    change: str
    feasible: bool
    same: bool
    message: str
    plan: Optional[Plan]


def _dataframe(table: str) -> Any:
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise ImportError("to_dataframe() needs pandas: pip install pandas") from None
    yes, no = ["on", "yes"], ["off", "no"]
    return pandas.read_csv(
        io.StringIO(table), keep_default_na=False, na_values=[""], true_values=yes, false_values=no
    )


class Answer(Record):
    """What a command answered: print() shows the text, a notebook a page, to_dict() everything."""

    _text: str = ""
    _table: str = ""

    @classmethod
    def made_of(cls, document: str, text: str, table: str) -> Any:
        """From the answer as JSON, text and CSV."""
        answer = cls(json.loads(document))
        answer.__dict__.update(_text=text, _table=table)
        return answer

    def __str__(self) -> str:
        return self._text

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame with the columns of --format csv (doc/report.md), a row each."""
        return _dataframe(self._table)

    def save(self, path: Path) -> None:
        """Writes the JSON document, which explain and export take."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.to_dict(), file, indent=2)
            file.write("\n")


class Estimate(Answer, Plan):
    """What `estimate` and `explain` answer: a plan, with advice."""


class Search(Answer):
    """What `search` answers: the best plans in order, the front of speed and money."""

    _kinds = {"best": Plan, "pareto": Plan, "what_if": WhatIf}
    question: Record
    summary: Optional[str] = None
    best: List[Plan]
    pareto: List[Plan]
    money: Optional[Record] = None
    funnel: Record
    mixed: Optional[Record] = None
    what_if: Optional[List[WhatIf]] = None
    notes: List[str]
    production_step_s: Optional[float] = None
    defaults: Optional[str] = None
    proven: bool
    gap: Optional[float]
    elapsed_s: float
    _script: str = ""

    @property
    def script(self) -> str:
        """The best plan as `export` writes it, where that was asked; else ""."""
        return self._script

    def __repr__(self) -> str:
        return f"<Search: {self.summary or 'no plan'}>"

    def _repr_html_(self) -> str:
        return _html.search(self)


class Comparison(Answer):
    """What `compare` answers: plans, and each of them beside the first."""

    plans: List[Record]
    comparisons: List[Record]

    def __repr__(self) -> str:
        return f"<Comparison: {', '.join(side.name for side in self.plans)}>"


class Listing(Answer):
    """What `gpus`, `models` and `prices` answer: rows in order."""

    @property
    def rows(self) -> List[Record]:
        """The list that the answer begins with."""
        rows: List[Record] = self[self.keys()[0]]
        return rows

    def __repr__(self) -> str:
        return f"<Listing: {len(self.rows)} {self.keys()[0]}>"

    def _repr_html_(self) -> str:
        return _html.listing(self.rows)


class Script:
    """A text that belongs into a file, and what is said about it."""

    def __init__(self, text: str, report: str) -> None:
        #: The script, the job or the flags.
        self.text = text
        #: What the command prints: of `improve` both predictions and the change as a diff.
        self.report = report

    def __str__(self) -> str:
        return self.report

    def __repr__(self) -> str:
        return f"<Script: {len(self.text.splitlines())} lines>"

    def to_dict(self) -> Dict[str, str]:
        """Both texts."""
        return {"text": self.text, "report": self.report}

    def save(self, path: Path) -> None:
        """Writes the text."""
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(self.text)

    def _repr_html_(self) -> str:
        return _html.script(self.report)
