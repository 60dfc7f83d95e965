#!/usr/bin/env python3
"""Compares the options of a checkout of Megatron-LM with src/import/megatron/megatron_flags.def.

    python3 tools/new_flags.py CHECKOUT

Prints what the parser there takes and our table does not know ("+", with its help), and what the table has and the parser no
longer takes ("-"). Nothing of the checkout is run: options are literals of add_argument in megatron/training, and fields
of the dataclasses that ArgumentGroupFactory turns into options. A field may be named otherwise by its metadata
(arg_names). Exit code 1 where something is new.
"""
import ast
import pathlib
import re
import sys

TABLE = pathlib.Path(__file__).parent.parent / "src/import/megatron/megatron_flags.def"
SOURCES = ("megatron/training", "megatron/core")


def known_flags():
    return set(re.findall(r'^FLAG\("([^"]+)"', TABLE.read_text(), re.M))


def texts(node):
    return [a.value for a in node if isinstance(a, ast.Constant) and isinstance(a.value, str)]


def called(node):
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def keyword(call, name):
    return next((k.value for k in call.keywords if k.arg == name), None)


def help_of(call):
    node = keyword(call, "help")
    return " ".join("".join(texts(ast.walk(node))).split()) if node else ""


def class_fields(node):
    """Field, the options its metadata names, whether it is on by default, and the text below it."""
    for at, line in enumerate(node.body):
        if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
            continue
        after = node.body[at + 1] if at + 1 < len(node.body) else None
        doc = ast.get_docstring(ast.Module([after], [])) if isinstance(after, ast.Expr) else None
        source = ast.unparse(line.value) if line.value else ""
        named = re.search(r"'arg_names': \[([^\]]*)\]", source)
        names = re.findall(r"--[\w-]+", named.group(1)) if named else []
        off = isinstance(line.value, ast.Constant) and line.value.value is True
        if not line.target.id.startswith("_") and "init=False" not in source:
            yield line.target.id, names, off, " ".join((doc or "").split())


def read_tree(root):
    flags, classes, bases, factories, lists = {}, {}, {}, [], set()
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(errors="replace"))
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    classes[node.name] = list(class_fields(node))
                    bases[node.name] = [b.id for b in node.bases if isinstance(b, ast.Name)]
                if path.name != "arguments.py":
                    continue
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "exclude":
                    lists |= set(texts(ast.walk(node.value)))
                if not isinstance(node, ast.Call):
                    continue
                if called(node) == "add_argument":
                    for name in texts(node.args):
                        if name.startswith("--"):
                            flags[name] = help_of(node)
                            if "BooleanOptionalAction" in ast.unparse(node):
                                flags["--no-" + name[2:]] = help_of(node)
                if called(node) == "ArgumentGroupFactory" and isinstance(node.args[0], ast.Name):
                    factories.append((node.args[0].id, keyword(node, "exclude")))
    return flags, classes, bases, factories, lists


def inherited(name, classes, bases):
    for base in bases.get(name, []):
        yield from inherited(base, classes, bases)
    yield from classes.get(name, [])


def parser_flags(root):
    flags, classes, bases, factories, lists = read_tree(root)
    for name, exclude in factories:
        out = set(texts(ast.walk(exclude))) if isinstance(exclude, ast.List) else lists
        for field, names, off, doc in inherited(name, classes, bases):
            word = field.replace("_", "-")
            for flag in names or (["--no-" + word, "--disable-" + word] if off else ["--" + word]):
                if field not in out:
                    flags.setdefault(flag, doc)
    return flags


def main():
    if len(sys.argv) != 2 or not (pathlib.Path(sys.argv[1]) / SOURCES[0] / "arguments.py").exists():
        sys.exit(__doc__)
    there, here = parser_flags(pathlib.Path(sys.argv[1])), known_flags()
    new = sorted(set(there) - here)
    for flag in new:
        print("+ %-52s %s" % (flag, there[flag][:120]))
    for flag in sorted(here - set(there)):
        print("- %s" % flag)
    print("%d options there, %d in the table, %d new" % (len(there), len(here), len(new)))
    sys.exit(1 if new else 0)


main()
