"""Examples of the documents run, and print what is shown; the notebook too."""

import doctest
import json
import os
import re
import unittest

import asked

PAGES = ("doc/python.md", "bindings/python/README.md")
NOTEBOOKS = sorted((asked.ROOT / "examples").glob("*.ipynb"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples(page):
    """The Python blocks of a page as one test; what stands between them is none of it."""
    text = (asked.ROOT / page).read_text()
    kept, inside = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            line = ""
        kept.append(line if inside else "")
    return doctest.DocTestParser().get_doctest("\n".join(kept), {}, page, str(asked.ROOT / page), 0)


class Documents(unittest.TestCase):
    def setUp(self):
        folder = asked.folder()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_pages(self):
        for page in PAGES:
            said = []
            test = examples(page)
            self.assertGreater(len(test.examples), 3)
            done = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
            self.assertEqual(done.failed, 0, "".join(said))


class Notebooks(unittest.TestCase):
    def test_they_run_and_show_what_they_should(self):
        try:
            import nbclient
            import nbformat
        except ImportError:
            self.skipTest("nbclient is not there")
        self.assertTrue(NOTEBOOKS)
        for path in NOTEBOOKS:
            book = nbformat.read(path, as_version=4)
            with asked.folder() as folder:
                nbclient.NotebookClient(book, timeout=300, kernel_name="python3",
                                        resources={"metadata": {"path": folder}}).execute()
            self.check(book)

    def check(self, book):
        shown = [output for cell in book.cells if cell.cell_type == "code"
                 for output in cell.outputs]
        pages = ["".join(output.data.get("text/html", "")) for output in shown
                 if output.output_type == "execute_result"]
        self.assertTrue(any("<svg" in page and "Pareto front" in page for page in pages))
        self.assertTrue(any("<table" in page and "tokens/s" in page for page in pages))
        self.assertTrue(any('class="dataframe"' in page for page in pages))
        text = "".join(o.text for o in shown if o.output_type == "stream" and o.name == "stdout")
        self.assertIn("#SBATCH", text)
        self.assertFalse([o for o in shown if o.output_type == "stream" and o.name == "stderr"])

    def test_they_are_kept_without_outputs(self):
        for path in NOTEBOOKS:
            for cell in json.loads(path.read_text())["cells"]:
                if cell["cell_type"] == "code":
                    self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))

    def test_pages_name_files_that_are_there(self):
        readme = (asked.ROOT / "bindings/python/README.md").read_text()
        for name in re.findall(r"`((?:astra_planner/)?_?\w+\.py)`", readme):
            places = [asked.ROOT / "bindings/python" / name,
                      asked.ROOT / "bindings/python/astra_planner" / name]
            self.assertTrue(any(place.exists() for place in places), name)


if __name__ == "__main__":
    unittest.main()
