"""The commands as functions. Their keyword arguments are the options of the library's table."""

import inspect
import os
from typing import Any, Callable, Dict, List, Optional, Sequence

from . import _library
from ._answers import Comparison, Estimate, Listing, Path, Script, Search
from ._errors import Cancelled, InputError
from ._options import Option, Options
from ._query import Cancel, Progress, Query

#: The file of the library that answers.
library_path = _library.which()
_lib = _library.load(library_path)
_options = Options(_lib)


def options(command: str) -> List[Option]:
    """The options of a command, as `astra COMMAND --help` tells them."""
    return _options.of(command)


def _give(
    query: Query, command: str, source: Any, flags: Any, output: Any, given: Dict[str, Any]
) -> None:
    """Options come before the file, as on the command line: a cluster of the caller's wins."""
    if output is not None:
        query.will_write(output)
    for name, value in _options.settings(command, given):
        query.set(name, value)
    if source is not None:
        query.load(source)
    if flags is not None:
        query.flags(flags)


def _answer(query: Query, kind: Any) -> Any:
    document = query.print(_library.JSON)
    if not document:
        return None
    return kind.made_of(document, query.print(_library.TEXT), query.print(_library.CSV))


def _run(
    command: str,
    kind: Any,
    given: Dict[str, Any],
    source: Any = None,
    flags: Any = None,
    function: str = "",
) -> Any:
    with Query(_lib) as query:
        _give(query, command, source, flags, None, given)
        status = query.ask(function or f"astra_{command}")
        answer = _answer(query, kind)
        if status != _library.OK:
            raise query.error(status, answer)
        return answer


def _write(query: Query, text: str, output: Optional[Path]) -> None:
    """All of it or nothing, then what belongs beside it."""
    if output is not None:
        beside = f"{os.fspath(output)}.{os.getpid()}.part"
        try:
            Script(text, text).save(beside)
            os.replace(beside, output)
        except BaseException:
            if os.path.exists(beside):
                os.unlink(beside)
            raise
    query.place_script_files()


def search(
    *,
    progress: Optional[Progress] = None,
    cancel: Optional[Cancel] = None,
    output: Optional[Path] = None,
    **given: Any,
) -> Search:
    """The fastest strategies for a model on a pool of GPUs, and the front of speed and money.

    search(model="llama3-70b", cluster="64x8:H100")

    `progress` is called with 0..1; `cancel` is an event or a function that says when to stop:
    Cancelled has the best plans until then. With `export` the best plan is a script too, which goes to the file `output`.
    """
    if output is not None and not given.get("export"):
        raise InputError(
            "output is where the script of export goes, and export is not given; "
            "save() of the answer writes it as JSON"
        )
    with Query(_lib) as query:
        _give(query, "search", None, None, output, given)
        status = query.ask("astra_search", progress, cancel)
        answer: Search = _answer(query, Search)
        if query.cancelled:
            raise Cancelled("the search was cancelled", answer)
        if status != _library.OK:
            raise query.error(status, answer)
        script = query.script()
        if script:
            answer.__dict__["_script"] = script
            _write(query, script, output)
        return answer


def estimate(
    source: Any = None,
    /,
    *,
    flags: Any = None,
    **given: Any,
) -> Estimate:
    """Speed and memory of one strategy.

    It is given by `set`, by `flags` of Megatron-LM (a list of words or one text), or by `source`: a
    launch script, an sbatch file, the log of a training, a plan (a path, or what a search found).
    """
    answer: Estimate = _run("estimate", Estimate, given, source, flags)
    return answer


def explain(
    source: Any = None,
    /,
    *,
    flags: Any = None,
    **given: Any,
) -> Estimate:
    """Why a plan is fast or slow, valid or not: as `estimate`, with speedups."""
    answer: Estimate = _run("explain", Estimate, given, source, flags)
    return answer


def export(source: Any, /, *, output: Optional[Path] = None, **given: Any) -> Script:
    """A plan as a script that starts it: of a search the best one, or number `plan`.

    export(found, to="slurm", output="job.sbatch")
    """
    with Query(_lib) as query:
        _give(query, "export", source, None, output, given)
        status = query.ask("astra_export")
        if status != _library.OK:
            raise query.error(status)
        script = Script(query.script(), query.script())
        _write(query, script.text, output)
        return script


def improve(
    source: Path,
    /,
    *,
    flags: Any = None,
    output: Optional[Path] = None,
    **given: Any,
) -> Script:
    """A launch script with the better plan put in; its `report` has predictions and a diff.

    NothingFeasible says that no better plan is found, or that it cannot be put in safely.
    """
    with Query(_lib) as query:
        _give(query, "improve", source, flags, output, given)
        status = query.ask("astra_improve")
        script = Script(query.script(), query.print(_library.TEXT))
        if status != _library.OK:
            raise query.error(status, script)
        _write(query, script.text, output)
        return script


def compare(sides: Sequence[Any], /, **given: Any) -> Comparison:
    """Plans side by side, and what each difference does to the time.

    compare(["best", "tp=8"], model="llama3-70b", cluster="64x8:H100")

    A side is the path of a plan, a launch script or a log, "best", or changes as "gpus=64".
    """
    given["side"] = [os.fspath(side) for side in sides]
    answer: Comparison = _run("compare", Comparison, given)
    return answer


def gpus(**given: Any) -> Listing:
    """The GPU types that Astra knows, their peaks, memory, links and prices."""
    answer: Listing = _run("gpus", Listing, given, function="astra_list_gpus")
    return answer


def models(**given: Any) -> Listing:
    """The models that Astra knows by name."""
    answer: Listing = _run("models", Listing, given, function="astra_list_models")
    return answer


def prices(**given: Any) -> Listing:
    """What GPUs cost, and which prices a search uses."""
    answer: Listing = _run("prices", Listing, given, function="astra_list_prices")
    return answer


_FUNCTIONS: List[Callable[..., Any]]
_FUNCTIONS = [search, estimate, explain, export, improve, compare, gpus, models, prices]
COMMANDS = {function.__name__: function for function in _FUNCTIONS}


def _described(option: Option) -> str:
    kind = "True" if option.takes == "nothing" else option.argument
    usual = f" ({option.usual})" if option.usual else ""
    several = "; or a list" if option.repeats else ""
    return f"{option.keyword} = {kind}: {option.help}{usual}{several}"


def _document(command: str, function: Any) -> None:
    """Signature and help of a function, from the table."""
    own = inspect.signature(function)
    fixed = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    more = [
        inspect.Parameter(o.keyword, inspect.Parameter.KEYWORD_ONLY, default=None)
        for o in options(command)
    ]
    function.__signature__ = own.replace(parameters=fixed + more)
    rows = "\n".join("    " + _described(option) for option in options(command))
    if rows:
        function.__doc__ = f"{inspect.getdoc(function)}\n\nOptions:\n\n{rows}\n"


for _name, _function in COMMANDS.items():
    _document(_name, _function)
