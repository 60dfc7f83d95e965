"""A library that is missing, foreign or of another version is said so, at import."""

import os
import shutil
import unittest
from pathlib import Path

import asked

TRY = ("try: import astra_planner\n"
       "except ImportError as e: print(type(e).__name__, '|', e)")


class Finding(unittest.TestCase):
    def of(self, **environment):
        code, out, err = asked.python(TRY, **environment)
        self.assertEqual((code, err), (0, ""))
        return out

    def copied(self, folder, with_library):
        package = Path(folder, "astra_planner")
        ignore = None if with_library else shutil.ignore_patterns("libastra.so")
        shutil.copytree(asked.PACKAGE, package, ignore=ignore)
        return package

    def test_named_but_missing(self):
        out = self.of(ASTRA_LIBRARY="/no/such/libastra.so")
        self.assertIn("LibraryError | cannot load libastra: /no/such/libastra.so:", out)
        self.assertIn("ASTRA_LIBRARY", out)

    def test_not_a_library(self):
        self.assertIn("cannot load libastra: ", self.of(ASTRA_LIBRARY=__file__))
        maps = Path("/proc/self/maps").read_text().splitlines()
        libc = next(line.split()[-1] for line in maps if "libc.so" in line)
        self.assertIn("has no astra_version", self.of(ASTRA_LIBRARY=libc))

    def test_none_beside_the_files(self):
        with asked.folder() as folder:
            self.copied(folder, False)
            out = self.of(PYTHONPATH=folder, ASTRA_LIBRARY="", LD_LIBRARY_PATH="")
            # Unless one is installed on this machine.
            self.assertTrue(out == "" or "cannot load libastra: libastra.so.0" in out, out)

    def test_one_that_the_loader_finds(self):
        with asked.folder() as folder:
            self.copied(folder, False)
            shutil.copy(asked.PACKAGE / "libastra.so", Path(folder, "libastra.so.0"))
            out = self.of(PYTHONPATH=folder, ASTRA_LIBRARY="", LD_LIBRARY_PATH=folder)
            self.assertEqual(out, "")

    def test_another_version(self):
        with asked.folder() as folder:
            package = self.copied(folder, True)
            os.chmod(package / "_version.py", 0o644)
            (package / "_version.py").write_text('VERSION = "9.8.7"\n')
            out = self.of(PYTHONPATH=folder, ASTRA_LIBRARY="")
        self.assertIn(f"LibraryError | {package / 'libastra.so'} is Astra ", out)
        self.assertIn("are of 9.8.7: install both from one release", out)


if __name__ == "__main__":
    unittest.main()
