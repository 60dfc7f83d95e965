"""Makes the wheel: wheel.py --version V --date D --library FILE --program FILE --into FOLDER

The wheel has the package with its library, and the program as a script. Its platform is measured:
the C library's newest symbol version that the two files ask for (`objdump -p`), which must not be
above 2.34, and the machine. A file that needs more than the C library gets no manylinux tag: such
a wheel is for machines like this one. Same inputs, same bytes. Needs Python and binutils.
"""

import argparse
import base64
import datetime
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import stage

NAME = "astra_planner"
NEWEST_GLIBC = (2, 34)
EVERYWHERE = re.compile(r"lib(c|m|pthread|dl|rt|gcc_s)\.so\.\d+$|ld-linux[-\w]*\.so\.\d+$")
MACHINES = {"elf64-x86-64": "x86_64", "elf64-littleaarch64": "aarch64"}

METADATA = """Metadata-Version: 2.1
Name: astra-planner
Version: {version}
Summary: Which GPUs, how many, and how to split a Transformer over them
License: Apache-2.0
Requires-Python: >=3.9
Classifier: Programming Language :: Python :: 3
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Provides-Extra: pandas
Requires-Dist: pandas; extra == 'pandas'
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """Wheel-Version: 1.0
Generator: astra
Root-Is-Purelib: false
Tag: {tag}
"""


def objdump(file):
    """What a file says of itself, in text."""
    done = subprocess.run(["objdump", "-p", str(file)], check=True, stdout=subprocess.PIPE)
    return done.stdout.decode()


def measure(file):
    """Machine, newest version of glibc's symbols, and libraries that not every Linux has."""
    text = objdump(file)
    machine = MACHINES[re.search(r"file format (\S+)", text).group(1)]
    versions = [tuple(map(int, v.split("."))) for v in re.findall(r"\bGLIBC_([0-9.]+)", text)]
    needed = re.findall(r"NEEDED\s+(\S+)", text)
    return machine, max(versions), [name for name in needed if not EVERYWHERE.match(name)]


def platform_of(files):
    """The platform tag that is true of all files."""
    machine, newest, needed = "", (2, 5), set()
    for file in files:
        machine, version, foreign = measure(file)
        newest = max(newest, version[:2])
        needed |= set(foreign)
    if newest > NEWEST_GLIBC:
        sys.exit(f"wheel: needs glibc {newest[0]}.{newest[1]}, the newest allowed is "
                 f"{NEWEST_GLIBC[0]}.{NEWEST_GLIBC[1]}: objdump -T {' '.join(map(str, files))}")
    if needed:
        print(f"wheel: for machines like this one, as it needs {', '.join(sorted(needed))}")
        return f"linux_{machine}"
    return f"manylinux_{newest[0]}_{newest[1]}_{machine}"


def licenses(root):
    """Ours, and those of the libraries that are linked in."""
    yield "LICENSE", (root / "LICENSE").read_bytes()
    for package in ("libjansson-dev", "libyaml-dev"):
        file = Path("/usr/share/doc") / package / "copyright"
        if not file.exists():
            sys.exit(f"wheel: {file} is missing: the license of what is linked in goes with it")
        yield f"LICENSE.{package[:-4]}", file.read_bytes()


def contents(given, tag):
    """Names inside the wheel and their bytes, but for RECORD."""
    info, data = f"{NAME}-{given.version}.dist-info", f"{NAME}-{given.version}.data"
    with tempfile.TemporaryDirectory() as folder:
        stage.stage(given.version, given.library, folder)
        for file in sorted(Path(folder, NAME).iterdir()):
            if file.is_file():
                yield f"{NAME}/{file.name}", file.read_bytes()
    yield f"{data}/scripts/astra", Path(given.program).read_bytes()
    readme = (stage.HERE / "README.md").read_text()
    yield f"{info}/METADATA", METADATA.format(version=given.version, readme=readme).encode()
    yield f"{info}/WHEEL", WHEEL.format(tag=tag).encode()
    for name, text in licenses(stage.HERE.parents[1]):
        yield f"{info}/licenses/{name}", text


def record(files, info):
    """RECORD: name, hash and size of every file, and its own name."""
    rows = []
    for name, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join(rows) + f"{info}/RECORD,,\n"


def put(archive, name, data, when):
    """A file whose bytes in the archive depend on nothing but name, contents and date."""
    row = zipfile.ZipInfo(name, when)
    mode = 0o755 if name.endswith(("/scripts/astra", ".so")) else 0o644
    row.external_attr = (0o100000 | mode) << 16
    row.create_system = 3
    row.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(row, data, compresslevel=9)


def date_of(text):
    """Of all files: the release's, or SOURCE_DATE_EPOCH."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch:
        when = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
    else:
        when = datetime.datetime.strptime(text, "%Y-%m-%d")
    return when.timetuple()[:6]


def write(given):
    """Makes the wheel, in the place of older ones, and says what it is called."""
    into = Path(given.into)
    tag = f"py3-none-{platform_of([given.library, given.program])}"
    files = list(contents(given, tag))
    info = f"{NAME}-{given.version}.dist-info"
    files.append((f"{info}/RECORD", record(files, info).encode()))
    wheel = into / f"{NAME}-{given.version}-{tag}.whl"
    part = wheel.with_suffix(".part")
    with zipfile.ZipFile(part, "w") as archive:
        for name, data in files:
            put(archive, name, data, date_of(given.date))
    for old in into.glob("*.whl"):
        old.unlink()
    part.rename(wheel)
    print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for word in ("version", "date", "library", "program", "into"):
        parser.add_argument("--" + word, required=True)
    write(parser.parse_args())
