"""Puts the package together: stage.py --version V --library FILE --into FOLDER

FOLDER/astra_planner then has the Python files, the library beside them, the version that both must
have, and the types of the commands (_commands.pyi), which are made from the library's options. Put
FOLDER on PYTHONPATH, or make a wheel of it (wheel.py). Needs nothing but Python.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

HEAD = '''"""Types of the commands. Made by stage.py from the library's options."""

import os
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Union

from ._answers import Comparison, Estimate, Listing, Path, Script, Search
from ._options import Option
from ._query import Cancel, Progress

Value = Union[str, int, float, "os.PathLike[str]"]
Flags = Union[str, Sequence[Union[str, int, float]]]
Named = Union[str, Sequence[str], Mapping[str, Any]]
COMMANDS: Dict[str, Callable[..., Any]]
library_path: str

def options(command: str) -> List[Option]: ...
'''


def type_of(option):
    """What a checker lets pass as a value of an option."""
    if option.takes == "nothing":
        return "bool"
    if option.takes == "word" and not option.repeats:
        return f"Literal[{', '.join(repr(word) for word in option.argument.split('|'))}]"
    if option.is_named:
        return "Named"
    return "Union[Value, Sequence[Value]]" if option.repeats else "Value"


def declared(name, function, options):
    """One function of the stub."""
    lines, starred = [], False
    for parameter in function.__signature__.parameters.values():
        if parameter.name in options:
            kind = f"Optional[{type_of(options[parameter.name])}]"
        else:
            kind = OWN[parameter.name]
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            lines.append("    *,")
            starred = True
        usual = "" if parameter.default is parameter.empty else " = None"
        lines.append(f"    {parameter.name}: {kind}{usual},")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            lines.append("    /,")
    answer = function.__annotations__["return"].__name__
    inside = "\n" + "\n".join(lines) + "\n" if lines else ""
    return f"def {name}({inside}) -> {answer}: ...\n"


OWN = {
    "source": "Any",
    "sides": "Sequence[Any]",
    "flags": "Optional[Flags]",
    "output": "Optional[Path]",
    "progress": "Optional[Progress]",
    "cancel": "Optional[Cancel]",
}


def stub():
    """The text of _commands.pyi, of the package that can be imported."""
    from astra_planner import _commands

    parts = [HEAD]
    for name, function in _commands.COMMANDS.items():
        options = {option.keyword: option for option in _commands.options(name)}
        parts.append(declared(name, function, options))
    return "".join(parts)


def stage(version, library, into):
    """Fills the folder; what was there of the package goes."""
    package = Path(into) / "astra_planner"
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    for file in sorted((HERE / "astra_planner").iterdir()):
        if file.suffix == ".py" or file.name == "py.typed":
            shutil.copyfile(file, package / file.name)
    (package / "_version.py").write_text(
        f'"""Of these files, and of the library that they call."""\n\nVERSION = "{version}"\n'
    )
    shutil.copyfile(library, package / "libastra.so")
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(into))
    os.environ.pop("ASTRA_LIBRARY", None)
    (package / "_commands.pyi").write_text(stub())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("version", "library", "into"):
        parser.add_argument("--" + name, required=True)
    given = parser.parse_args()
    stage(given.version, given.library, given.into)
