"""One query of the library: a handle that lives as long as it is asked and printed.

Each call of a command has a handle of its own, so that threads may ask side by side.
"""

import ctypes
import json
import os
import shlex
import signal
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Callable, List, Optional, Sequence, Type, Union

from . import _library
from ._errors import AstraError, InputError, NothingFeasible, SystemTrouble
from ._options import encode, text_of

Progress = Callable[[float], Any]
#: Says whether to stop: an event, or a function.
Cancel = Union[threading.Event, Callable[[], Any]]

_EXCEPTIONS = {
    _library.NONE: NothingFeasible,
    _library.INPUT: InputError,
    _library.SYSTEM: SystemTrouble,
}


def _decoded(text: bytes) -> str:
    """Bytes that are no UTF-8, as of file names, come back as they were when written."""
    return text.decode("utf-8", "surrogateescape")


def _split(words: Union[str, Sequence[Any]]) -> Sequence[Any]:
    if not isinstance(words, str):
        return words
    try:
        return shlex.split(words)
    except ValueError as trouble:
        raise InputError(f"flags: {trouble}: {words}") from None


class Watch:
    """Lets a query call back while it runs.

    An exception cannot pass through C: it is kept, and raised when the library has returned. That
    holds for interrupts too, which Python handles no earlier than in a call back: a handler for
    SIGINT that raises, as Python's own does, could do so in the midst of it.
    """

    def __init__(self, progress: Optional[Progress], cancel: Optional[Cancel]) -> None:
        self._progress = progress
        self._cancel = cancel.is_set if isinstance(cancel, threading.Event) else cancel
        self.cancelled = False
        self.raised: Optional[BaseException] = None
        self.on_progress = _library.PROGRESS(self._tell)
        self.on_cancel = _library.CANCELLED(self.is_over)

    def _tell(self, _context: Any, done: float) -> None:
        if self._progress and not self.raised:
            self._keep(self._progress, done)

    def is_over(self, _context: Any = None) -> bool:
        """The caller wants no more, or has to be told something first."""
        if self._cancel and not self.raised and not self.cancelled:
            self.cancelled = bool(self._keep(self._cancel))
        return self.cancelled or self.raised is not None

    def _keep(self, function: Callable[..., Any], *words: Any) -> Any:
        try:
            return function(*words)
        except BaseException as raised:
            self.raised = raised
            return None

    def __enter__(self) -> "Watch":
        self._handler: Optional[Callable[..., Any]] = None
        if threading.current_thread() is threading.main_thread():
            handler: Any = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler
                signal.signal(signal.SIGINT, lambda *words: self._keep(handler, *words))
        return self

    def __exit__(self, *_: Any) -> None:
        if self._handler:
            signal.signal(signal.SIGINT, self._handler)


class Query:
    """A handle. `with Query(library) as q:` frees it."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._handle = ctypes.c_void_p(library.astra_new())
        #: The caller ended what was asked last; its answer is what was found until then.
        self.cancelled = False

    def __enter__(self) -> "Query":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        raised: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._library.astra_free(self._handle)

    def message(self) -> str:
        """Why the latest call did not succeed."""
        return _decoded(self._library.astra_message(self._handle))

    def error(self, status: int, answer: Any = None) -> AstraError:
        """What to raise for a status."""
        kind = _EXCEPTIONS.get(status, AstraError)
        return kind(self.message() or f"the library returned {status}", answer)

    def _check(self, status: int) -> None:
        if status != _library.OK:
            raise self.error(status)

    def set(self, option: bytes, value: bytes) -> None:
        """An option, given once."""
        self._check(self._library.astra_set(self._handle, option, value))

    def flags(self, words: Union[str, Sequence[Any]]) -> None:
        """Megatron's flags: a list of words, or a text that is split as a shell does."""
        flat: List[bytes] = [encode(text_of(word, "flags"), "flags") for word in _split(words)]
        array = (ctypes.c_char_p * len(flat))(*flat)
        self._check(self._library.astra_flags(self._handle, len(flat), array))

    def load(self, source: Any) -> None:
        """A file by its path; or a plan, a search, or a mapping of the JSON of one."""
        if isinstance(source, (str, os.PathLike)):
            path = encode(os.fsdecode(source), "the path")
            self._check(self._library.astra_load_plan(self._handle, path))
            return
        fields = source.to_dict() if hasattr(source, "to_dict") else source
        if not isinstance(fields, Mapping):
            raise InputError(f"a {type(source).__name__} is neither a path nor a plan")
        name = type(source).__name__.encode()
        text = json.dumps(fields).encode()
        self._check(self._library.astra_load_text(self._handle, name, text))

    def will_write(self, path: Any) -> None:
        """Where the script goes: files that belong to it lie beside it."""
        self._library.astra_will_write(self._handle, encode(os.fsdecode(path), "output"))

    def ask(
        self,
        function: str,
        progress: Optional[Progress] = None,
        cancel: Optional[Cancel] = None,
    ) -> int:
        """Runs the query: OK, or NONE. Anything else is raised."""
        with Watch(progress, cancel) as watch:
            self._library.astra_on_progress(self._handle, watch.on_progress, None)
            self._library.astra_on_cancel(self._handle, watch.on_cancel, None)
            status = getattr(self._library, function)(self._handle)
        self.cancelled = watch.cancelled
        if watch.raised:
            raise watch.raised
        if status not in (_library.OK, _library.NONE):
            raise self.error(status)
        return int(status)

    def print(self, form: int) -> str:
        """The answer; "" when there is none."""
        return _decoded(self._library.astra_print(self._handle, form))

    def script(self) -> str:
        """What belongs into a file of its own; "" when there is none."""
        return _decoded(self._library.astra_script(self._handle))

    def place_script_files(self) -> None:
        """Puts the files in place that belong to the script."""
        self._check(self._library.astra_script_files(self._handle))
