"""What goes wrong, as exceptions: one for each status of the library that is not ASTRA_OK."""

import re
from typing import Any, NamedTuple, Optional


class Place(NamedTuple):
    """Where a message points to: line and column count from 1, 0 when they are not told."""

    file: str
    line: int
    column: int


class AstraError(Exception):
    """The base of all. `status` is the exit code that the command would have."""

    status = 3

    def __init__(self, message: str, answer: Any = None) -> None:
        super().__init__(message)
        self.message = message.partition("\n")[0]
        #: The line of the text that is meant and a caret below it; "" where none is shown.
        self.excerpt = message.partition("\n")[2]
        #: What was found all the same, as of an estimate that does not fit; None when nothing.
        self.answer = answer

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.answer)

    @property
    def place(self) -> Optional[Place]:
        """File, line and column that the message begins with, or None."""
        found = re.match(r"(.+?):(\d+):(?:(\d+):)? ", self.message)
        if not found:
            return None
        return Place(found.group(1), int(found.group(2)), int(found.group(3) or 0))


class NothingFeasible(AstraError):
    """A well-formed query without a feasible answer; `answer` has what was computed."""

    status = 1


class InputError(AstraError, ValueError):
    """Something given is wrong: the message says what, where, and what would be right."""

    status = 2


class SystemTrouble(AstraError):
    """A file could not be read or written."""


class Cancelled(AstraError):
    """The caller ended it; `answer` has what was found until then, None when nothing was."""


class LibraryError(AstraError, ImportError):
    """The library is missing, or is not the one that these files belong to."""
