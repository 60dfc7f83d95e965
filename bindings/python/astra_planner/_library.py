"""libastra by ctypes: which file it is, and how the functions of astra.h are called.

The library is the file that ASTRA_LIBRARY names, or the one beside this file (wheels), or the one
that the system's loader finds (packages, `make install`): the first of them, whether or not it is
any good. Its version must be ours, as structs may differ between versions; that is seen to before
anything else is called.
"""

import ctypes
import os
from ctypes import POINTER, c_bool, c_char_p, c_double, c_int, c_size_t, c_void_p
from typing import Any, Dict, List, Tuple

from ._errors import LibraryError
from ._version import VERSION

OK, NONE, INPUT, SYSTEM = range(4)  # enum astra_status
TEXT, JSON, CSV = range(3)  # enum astra_format
TAKES = (  # enum astra_takes
    "nothing",
    "any",
    "word",
    "model",
    "pool",
    "gpu",
    "gpu_value",
    "param",
    "file",
    "folder",
    "new_file",
)

PROGRESS = ctypes.CFUNCTYPE(None, c_void_p, c_double)
CANCELLED = ctypes.CFUNCTYPE(c_bool, c_void_p)


class OptionRow(ctypes.Structure):
    """struct astra_option"""

    _fields_ = [
        ("name", c_char_p),
        ("argument", c_char_p),
        ("commands", c_char_p),
        ("help", c_char_p),
        ("group", c_char_p),
        ("usual", c_char_p),
        ("takes", c_int),
        ("repeats", c_bool),
    ]


Prototype = Tuple[Any, List[Any]]

#: Every function that is called, as astra.h declares it: result, arguments.
FUNCTIONS: Dict[str, Prototype] = {
    "astra_version": (c_char_p, []),
    "astra_new": (c_void_p, []),
    "astra_free": (None, [c_void_p]),
    "astra_set": (c_int, [c_void_p, c_char_p, c_char_p]),
    "astra_flags": (c_int, [c_void_p, c_size_t, POINTER(c_char_p)]),
    "astra_load_plan": (c_int, [c_void_p, c_char_p]),
    "astra_load_text": (c_int, [c_void_p, c_char_p, c_char_p]),
    "astra_will_write": (None, [c_void_p, c_char_p]),
    "astra_on_progress": (None, [c_void_p, PROGRESS, c_void_p]),
    "astra_on_cancel": (None, [c_void_p, CANCELLED, c_void_p]),
    "astra_search": (c_int, [c_void_p]),
    "astra_estimate": (c_int, [c_void_p]),
    "astra_explain": (c_int, [c_void_p]),
    "astra_export": (c_int, [c_void_p]),
    "astra_improve": (c_int, [c_void_p]),
    "astra_compare": (c_int, [c_void_p]),
    "astra_list_gpus": (c_int, [c_void_p]),
    "astra_list_models": (c_int, [c_void_p]),
    "astra_list_prices": (c_int, [c_void_p]),
    "astra_print": (c_char_p, [c_void_p, c_int]),
    "astra_script": (c_char_p, [c_void_p]),
    "astra_script_files": (c_int, [c_void_p]),
    "astra_message": (c_char_p, [c_void_p]),
    "astra_options": (POINTER(OptionRow), []),
    "astra_nearest": (c_char_p, [c_char_p, POINTER(c_char_p), c_size_t]),
}

SONAME = "libastra.so." + VERSION.partition(".")[0]


def which() -> str:
    """The file to load: a path, or a name that the loader looks for."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libastra.so")
    named = os.environ.get("ASTRA_LIBRARY")
    if named:
        return os.path.abspath(named)
    return beside if os.path.lexists(beside) else SONAME


def _declare(library: ctypes.CDLL, path: str, name: str) -> None:
    try:
        function = getattr(library, name)
    except AttributeError:
        raise LibraryError(f"{path} is no libastra {VERSION}: it has no {name}") from None
    function.restype, function.argtypes = FUNCTIONS[name]


def load(path: str) -> ctypes.CDLL:
    """The library, all its functions declared. It releases the GIL while it is called."""
    try:
        library = ctypes.CDLL(path)
    except OSError as trouble:
        raise LibraryError(
            f"cannot load libastra: {trouble}; install astra-planner anew, or name the library of "
            f"Astra {VERSION} in the environment variable ASTRA_LIBRARY"
        ) from None
    _declare(library, path, "astra_version")
    version = library.astra_version().decode()
    if version.split()[0] != VERSION:
        raise LibraryError(
            f"{path} is Astra {version}, but the Python files in {os.path.dirname(__file__)} are "
            f"of {VERSION}: install both from one release"
        )
    for name in FUNCTIONS:
        _declare(library, path, name)
    return library
