"""Type hints: the package passes mypy, and a user's mistakes do not."""

import ast
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import asked

GOOD = '''
import threading
import astra_planner as astra
found = astra.search(model="llama3-8b", cluster="1x8:H100", top=3, set={"tp": 4}, stats=True)
seconds: float = found.best[0].step_s
name: str = astra.export(found, to="slurm", plan=2).text
rows: int = len(astra.gpus().rows)
astra.estimate("train.sh", flags=["--bf16"], env={"N": 1})
stop = threading.Event()
astra.search(cancel=stop, progress=print)
astra.search(cancel=stop.is_set)
'''
BAD = {
    'astra.search(modell="llama3-8b")': "modell",
    'astra.search(market="sopt")': "market",
    'astra.search(stats="yes")': "stats",
    'astra.export(astra.gpus(), to="latex")': "to",
    'words: int = astra.search().best[0].provenance': "Incompatible types",
}


class Syntax(unittest.TestCase):
    def test_is_that_of_python_3_9(self):
        for file in [*asked.PACKAGE.glob("*.py"), *(asked.ROOT / "bindings/python").glob("*.py")]:
            ast.parse(file.read_text(), str(file), feature_version=(3, 9))

    def test_an_older_python_imports_it(self):
        older = os.environ.get("OLDER_PYTHON")
        if not older:
            self.skipTest("OLDER_PYTHON names none")
        subprocess.run([older, "-c", "import astra_planner as a; a.gpus(); a.models()"], check=True)


class Types(unittest.TestCase):
    def mypy(self, folder, *words, path=asked.PACKAGE.parent):
        try:
            import mypy  # noqa: F401
        except ImportError:
            self.skipTest("mypy is not there")
        environment = {**os.environ, "MYPYPATH": str(path)}
        environment.pop("PYTHONPATH", None)
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir",
                               str(Path(folder, "cache")), *words], cwd=folder, env=environment,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout.decode()

    def test_the_package(self):
        with asked.folder() as folder:  # without the stub, in whose place _commands.py is looked at
            shutil.copytree(asked.PACKAGE, Path(folder, "astra_planner"),
                            ignore=shutil.ignore_patterns("*.pyi", "*.so"))
            self.assertIn("Success", self.mypy(folder, "-p", "astra_planner", path=folder))

    def test_users(self):
        with asked.folder() as folder:
            Path(folder, "good.py").write_text(GOOD)
            lines = "\n".join(BAD)
            Path(folder, "bad.py").write_text(f"import astra_planner as astra\n{lines}\n")
            self.assertIn("Success", self.mypy(folder, "good.py"))
            said = self.mypy(folder, "bad.py").splitlines()
            for at, word in enumerate(BAD.values()):
                mine = [line for line in said if line.startswith(f"bad.py:{at + 2}: error")]
                self.assertTrue(mine and word in mine[0], (word, said))


if __name__ == "__main__":
    unittest.main()
