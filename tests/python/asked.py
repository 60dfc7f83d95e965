"""What the tests ask, and the program that answers the same."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import astra_planner

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ASTRA", str(ROOT / "build" / "astra"))
PACKAGE = Path(astra_planner.__file__).parent

SMALL = {"model": "llama3-8b", "cluster": "1x8:H100"}
FITS = {**SMALL, "set": {"tp": 2, "pp": 2, "dist_opt": True, "recompute": "full",
                         "recompute_method": "uniform", "recompute_layers": 1}}
TOO_BIG = {**SMALL, "set": {"tp": 1, "dist_opt": False}}


def program(*words):
    """What the program prints, whatever its exit code."""
    done = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    return done.stdout.decode()


def document(*words):
    """Its answer in JSON."""
    return json.loads(program(*words, "--format", "json"))


def python(code, **environment):
    """Runs a piece of Python in a process of its own: exit code, output, messages."""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=120,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def folder():
    """A folder that is gone after `with`."""
    return tempfile.TemporaryDirectory(prefix="astra-python-")
