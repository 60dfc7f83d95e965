"""Every function is called as astra.h declares it: read from the header, not from memory."""

import ctypes
import re
import unittest

import asked
from astra_planner import _library

HEADER = re.sub(r"/\*.*?\*/", "", (asked.ROOT / "include/astra.h").read_text(), flags=re.S)
KINDS = {
    "void": None,
    "int": ctypes.c_int,
    "bool": ctypes.c_bool,
    "double": ctypes.c_double,
    "size_t": ctypes.c_size_t,
    "const char *": ctypes.c_char_p,
    "const char *const *": ctypes.POINTER(ctypes.c_char_p),
    "struct astra *": ctypes.c_void_p,
    "const struct astra *": ctypes.c_void_p,
    "void *": ctypes.c_void_p,
    "const struct astra_option *": ctypes.POINTER(_library.OptionRow),
}


def kind_of(declaration):
    """The ctypes kind of a result or a parameter, with or without its name."""
    text = " ".join(declaration.split())
    callback = re.fullmatch(r"([\w ]+?) \(\*\w*\)\((.*)\)", text)
    if callback:
        return ctypes.CFUNCTYPE(kind_of(callback.group(1)),
                                *[kind_of(p) for p in callback.group(2).split(", ")])
    if text.startswith("enum "):
        return ctypes.c_int
    for shorter in (text, re.sub(r"\w+$", "", text).strip()):
        if shorter in KINDS:
            return KINDS[shorter]
    raise AssertionError(f"what is '{text}'?")


def split(parameters):
    """At commas that are not inside a function's parameters."""
    return [] if parameters == "void" else re.split(r", (?![^(]*\)(?:[^(]|$))", parameters)


def declared():
    """Result and parameters by name, of all functions of the header."""
    flat = " ".join(HEADER.split())
    found = {}
    shape = r"([\w ]+?[ *]+)(astra_\w+)\(((?:[^();]|\([^()]*\))*)\);"
    for result, name, rest in re.findall(shape, flat):
        result = re.sub(r"^.*\b(?:default|else)\b", "", result).strip()
        found[name] = (result, split(rest))
    return found


class Abi(unittest.TestCase):
    def test_prototypes(self):
        header = declared()
        self.assertGreater(len(header), 25)
        for name, (result, arguments) in _library.FUNCTIONS.items():
            self.assertIn(name, header)
            self.assertEqual(result, kind_of(header[name][0]), name)
            self.assertEqual(arguments, [kind_of(p) for p in header[name][1]], name)

    def test_called_functions_are_declared(self):
        called = set()
        for file in asked.PACKAGE.glob("*.py"):
            called |= set(re.findall(r"[.\"](astra_(?!planner)\w+)", file.read_text()))
        self.assertGreater(len(called), 20)
        self.assertLessEqual(called, set(_library.FUNCTIONS))

    def test_enums(self):
        def values(enum):
            body = re.search(r"enum %s \{([^}]*)\}" % enum, HEADER).group(1)
            return [word.split("=")[0].strip() for word in body.split(",")]

        self.assertEqual(values("astra_status")[:4],
                         ["ASTRA_OK", "ASTRA_NONE", "ASTRA_INPUT", "ASTRA_SYSTEM"])
        self.assertEqual(values("astra_format"), ["ASTRA_TEXT", "ASTRA_JSON", "ASTRA_CSV"])
        takes = [word.replace("ASTRA_TAKES_", "").lower() for word in values("astra_takes")]
        self.assertEqual(takes, list(_library.TAKES))

    def test_struct_of_options(self):
        body = re.search(r"struct astra_option \{([^}]*)\}", HEADER).group(1)
        fields = [part.split() for part in body.split(";") if part.strip()]
        self.assertEqual([words[-1].lstrip("*") for words in fields],
                         [name for name, _ in _library.OptionRow._fields_])
        for words, (name, kind) in zip(fields, _library.OptionRow._fields_):
            bare = " ".join(words).replace("*" + name, "*").replace("* ", "*")
            self.assertEqual(kind_of(bare), kind)


if __name__ == "__main__":
    unittest.main()
