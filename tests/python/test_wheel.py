"""The wheel: what is in it, that it says the truth, and that it works where nothing else is."""

import base64
import csv
import hashlib
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import asked

WHEELS = sorted(Path(os.environ.get("WHEELS", asked.ROOT / "build/wheel")).glob("*.whl"))


@unittest.skipUnless(WHEELS, "there is no wheel")
class Wheel(unittest.TestCase):
    def setUp(self):
        self.wheel = WHEELS[0]
        self.archive = zipfile.ZipFile(self.wheel)
        self.addCleanup(self.archive.close)

    def read(self, ending):
        name = next(name for name in self.archive.namelist() if name.endswith(ending))
        return self.archive.read(name)

    def test_record_is_true(self):
        rows = {row[0]: row[1:] for row in csv.reader(self.read("/RECORD").decode().splitlines())}
        self.assertEqual(list(rows), self.archive.namelist())
        for name, (digest, size) in rows.items():
            if name.endswith("/RECORD"):
                continue
            data = self.archive.read(name)
            mine = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            self.assertEqual((digest, size), (f"sha256={mine}", str(len(data))))

    def test_the_name_says_what_it_holds(self):
        tag = self.wheel.stem.split("-", 2)[2]
        self.assertIn(f"Tag: {tag}\n", self.read("/WHEEL").decode())
        with tempfile.TemporaryDirectory() as folder:
            newest = (0, 0)
            for ending in ("/libastra.so", "/scripts/astra"):
                file = Path(folder, "file")
                file.write_bytes(self.read(ending))
                said = subprocess.run(["objdump", "-T", "-p", str(file)], stdout=subprocess.PIPE,
                                      check=True).stdout.decode()
                versions = [word.strip("()")[6:].split(".") for word in said.split()
                            if word.strip("()").startswith("GLIBC_2")]
                newest = max(newest, *[tuple(map(int, v[:2])) for v in versions])
                needed = [line.split()[1] for line in said.splitlines() if "NEEDED" in line]
                self.assertNotIn("jansson", " ".join(needed))
                self.assertNotIn("yaml", " ".join(needed))
                if "manylinux" in tag:
                    loaders = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
                    self.assertLessEqual(set(needed), {"libc.so.6", "libm.so.6"} | loaders)
        self.assertLessEqual(newest, (2, 34))
        if "manylinux" in tag:
            self.assertIn(f"manylinux_{newest[0]}_{newest[1]}_", tag)

    def test_licenses_go_with_what_is_linked_in(self):
        for name in ("LICENSE", "LICENSE.libjansson", "LICENSE.libyaml"):
            self.assertGreater(len(self.read(f"/licenses/{name}")), 500)

    def test_in_a_clean_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            theirs = ("PYTHON", "ASTRA_LIBRARY", "LD_LIBRARY_PATH")
            environment = {k: v for k, v in os.environ.items() if not k.startswith(theirs)}
            subprocess.run([sys.executable, "-m", "venv", folder], check=True, env=environment)

            def run(*words):
                done = subprocess.run([str(Path(folder, "bin", words[0])), *words[1:]], cwd=folder,
                                      env=environment, stdout=subprocess.PIPE, check=True)
                return done.stdout.decode()

            run("pip", "install", "--no-index", "--quiet", str(self.wheel))
            code = ("import astra_planner as a\nprint(a.__version__, a.library_path)\n"
                    "print(a.search(model='llama3-8b', cluster='1x8:H100', top=1).best[0].gpus)")
            version, rest = run("python", "-c", code).split(" ", 1)
            self.assertEqual(run("astra", "--version").split()[1], version)
            self.assertTrue(rest.startswith(folder) and rest.endswith("\n8\n"), rest)
            self.assertIn("llama3-70b", run("astra", "models"))
            run("pip", "uninstall", "--yes", "--quiet", "astra-planner")
            self.assertFalse(Path(folder, "bin", "astra").exists())


if __name__ == "__main__":
    unittest.main()
