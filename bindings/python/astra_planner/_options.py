"""Options of commands, from the library's own table, and their values in Python's kinds.

    True, False                a switch, given or not; of --set on, off
    a number, a text, a path   as it stands
    a list                     an option that may be given several times, each in turn
    a mapping                  an option of the form NAME=VALUE: {"tp": 4, "pp": [2, 4]}
    None                       as if it were not given
"""

import ctypes
import operator
import os
import re
from collections.abc import Mapping
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from . import _library
from ._errors import InputError


class Option(NamedTuple):
    """An option of a command, as `astra COMMAND --help` tells it."""

    name: str
    argument: str
    commands: Tuple[str, ...]
    help: str
    group: str
    usual: str
    takes: str
    repeats: bool

    @property
    def keyword(self) -> str:
        """Its name as a keyword argument."""
        return self.name.replace("-", "_")

    @property
    def is_named(self) -> bool:
        """It takes NAME=VALUE."""
        return "=" in self.argument


def read_table(library: ctypes.CDLL) -> Dict[str, Option]:
    """All options, by keyword, in the order of the table."""
    found: Dict[str, Option] = {}
    row = library.astra_options()
    at = 0
    while row[at].name:
        option = _option(row[at])
        found[option.keyword] = option
        at += 1
    return found


def _option(row: _library.OptionRow) -> Option:
    name, argument, commands, text, group, usual = (
        getattr(row, field).decode()
        for field in ("name", "argument", "commands", "help", "group", "usual")
    )
    takes = _library.TAKES[row.takes]
    return Option(name, argument, tuple(commands.split()), text, group, usual, takes, row.repeats)


def encode(text: str, what: str) -> bytes:
    """For C: no text ends early because a byte of it is 0."""
    if "\0" in text:
        raise InputError(f"{what} has a character of code 0 in it: {text!r}")
    return text.encode("utf-8", "surrogateescape")


def text_of(value: Any, what: str) -> str:
    """A single value as the command line would have it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    try:
        return str(operator.index(value))
    except TypeError:
        pass
    if isinstance(value, float) or hasattr(value, "__float__"):
        return repr(float(value))
    raise InputError(f"{what} is a {type(value).__name__}, expected a text or a number")


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _named(option: Option, values: Mapping[Any, Any]) -> Iterator[str]:
    if not option.is_named:
        raise InputError(f"{option.keyword} is a mapping, expected {option.argument}")
    for name, value in values.items():
        parts = value if _is_list(value) else [value]
        what = f"{option.keyword}[{name!r}]"
        yield f"{name}={','.join(text_of(part, what) for part in parts)}"


def _switch(option: Option, value: Any) -> Iterator[str]:
    if not isinstance(value, bool):
        raise InputError(f"{option.keyword} is {value!r}, expected True or False")
    if value:
        yield "on"


def texts_of(option: Option, value: Any) -> Iterator[str]:
    """The value as texts, one for each time that the option is given."""
    if value is None:
        return
    if option.takes == "nothing":
        yield from _switch(option, value)
    elif isinstance(value, Mapping):
        yield from _named(option, value)
    elif isinstance(value, bool):
        raise InputError(f"{option.keyword} is {value}, expected {option.argument}")
    elif not _is_list(value):
        yield text_of(value, option.keyword)
    elif option.repeats:
        for one in value:
            yield from texts_of(option, one)
    else:
        raise InputError(f"{option.keyword} is a list, but may be given only once")


class Options:
    """The table, asked by command."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self.table = read_table(library)

    def of(self, command: str) -> List[Option]:
        """Those that a command takes; an option without commands belongs to all."""
        return [o for o in self.table.values() if not o.commands or command in o.commands]

    def _nearest(self, word: str, command: str) -> str:
        names = [option.keyword.encode() for option in self.of(command)]
        array = (ctypes.c_char_p * len(names))(*names)
        found: Optional[bytes] = self._library.astra_nearest(
            encode(word, "an option"), array, len(names)
        )
        return found.decode() if found else ""

    def find(self, command: str, keyword: str) -> Option:
        """By keyword; one underscore more behind it is fine, as in from_."""
        option = self.table.get(keyword) or self.table.get(re.sub("_$", "", keyword))
        if option and (not option.commands or command in option.commands):
            return option
        if option:
            raise InputError(
                f"{keyword} is no option of {command}, but of: {' '.join(option.commands)}"
            )
        near = self._nearest(keyword, command)
        hint = f" (did you mean {near}?)" if near else f"; help(astra_planner.{command}) lists them"
        raise InputError(f"{command} has no option {keyword}{hint}")

    def settings(self, command: str, given: Dict[str, Any]) -> Iterator[Tuple[bytes, bytes]]:
        """What astra_set takes, in the order given."""
        for keyword, value in given.items():
            option = self.find(command, keyword)
            for text in texts_of(option, value):
                yield option.name.encode(), encode(text, keyword)
