"""What is wrong is an exception: of the right kind, with message, place and answer."""

import pickle
import unittest
from pathlib import Path

import asked
import astra_planner as astra
from asked import FITS, SMALL, TOO_BIG


def refused(function, *words, **options):
    try:
        function(*words, **options)
    except astra.InputError as error:
        return str(error)
    raise AssertionError("not refused")


class Kinds(unittest.TestCase):
    def test_what_does_not_fit_comes_with_its_answer(self):
        with self.assertRaises(astra.NothingFeasible) as caught:
            astra.estimate(**TOO_BIG)
        error = caught.exception
        self.assertEqual(error.status, 1)
        self.assertIn("GiB to use", error.message)
        self.assertFalse(error.answer.feasible)
        self.assertIn("Does not fit", str(error.answer))
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.answer), (str(error), error.answer))

    def test_nothing_found(self):
        with self.assertRaises(astra.NothingFeasible) as caught:
            astra.search(model="llama3-405b", cluster="1x8:H100")
        self.assertIsNone(caught.exception.answer)

    def test_all_are_astras(self):
        for kind in (astra.InputError, astra.NothingFeasible, astra.SystemTrouble, astra.Cancelled,
                     astra.LibraryError):
            self.assertTrue(issubclass(kind, astra.AstraError))
        self.assertTrue(issubclass(astra.InputError, ValueError))
        self.assertTrue(issubclass(astra.LibraryError, ImportError))

    def test_system_trouble(self):
        with asked.folder() as folder:
            with self.assertRaises(astra.SystemTrouble) as caught:
                astra.search(**SMALL, plot=Path(folder, "no", "such", "front.svg"))
            self.assertEqual(caught.exception.status, 3)
            with self.assertRaises(OSError):  # Python's own writing
                astra.export(astra.estimate(**FITS), to="slurm", output=Path(folder, "no", "job"))
            self.assertEqual(list(Path(folder).iterdir()), [])

    def test_the_place(self):
        with asked.folder() as folder:
            rules = Path(folder, "my.rules")
            rules.write_text("# mine\ndrop tp ** 2\n")
            with self.assertRaises(astra.InputError) as caught:
                astra.search(**SMALL, rules=rules)
        error = caught.exception
        self.assertEqual(error.status, 2)
        self.assertEqual(error.place[:2], (str(rules), 2))
        self.assertIn("^", error.excerpt)
        self.assertNotIn("\n", error.message)
        self.assertIsNone(astra.InputError("nowhere").place)


class Values(unittest.TestCase):
    def test_unknown_options_have_a_neighbour(self):
        self.assertEqual(refused(astra.search, modell="x"),
                         "search has no option modell (did you mean model?)")
        self.assertIn("help(astra_planner.search) lists them",
                      refused(astra.search, xyzzy_quux=1))
        self.assertEqual(refused(astra.gpus, model="x"),
                         "model is no option of gpus, but of: search estimate explain improve compare")
        self.assertIn("no option format", refused(astra.models, format="json"))

    def test_kinds_of_values(self):
        self.assertEqual(refused(astra.search, **SMALL, top=[1, 2]),
                         "top is a list, but may be given only once")
        self.assertEqual(refused(astra.search, **SMALL, stats=3),
                         "stats is 3, expected True or False")
        self.assertEqual(refused(astra.search, **SMALL, top=True), "top is True, expected K")
        self.assertEqual(refused(astra.search, **SMALL, top={"a": 1}),
                         "top is a mapping, expected K")
        self.assertIn("is a complex", refused(astra.search, **SMALL, top=1j))
        self.assertIn("is a bytes", refused(astra.search, **SMALL, top=b"1"))
        self.assertIn("a character of code 0", refused(astra.search, model="llama3-8b\0"))
        self.assertIn("whole number", refused(astra.search, **SMALL, top=1.5))
        self.assertIn("memory-margin", refused(astra.search, **SMALL, memory_margin=float("nan")))
        self.assertIn("neither a path nor a plan", refused(astra.explain, 3))
        self.assertIn("dict:1:", refused(astra.explain, {"best": float("nan")}))
        self.assertIn("No closing quotation", refused(astra.estimate, **SMALL, flags='--a "b'))
        self.assertIn("export is not given", refused(astra.search, **SMALL, output="plan.json"))

    def test_what_values_become(self):
        def texts(keyword, value):
            option = next(o for o in astra.options("search") if o.keyword == keyword)
            return list(astra._options.texts_of(option, value))

        self.assertEqual(texts("set", {"tp": 4, "pp": [2, 4], "dist_opt": True, "fsdp": "none"}),
                         ["tp=4", "pp=2,4", "dist_opt=on", "fsdp=none"])
        self.assertEqual(texts("set", ["tp=4", {"pp": 2}]), ["tp=4", "pp=2"])
        self.assertEqual(texts("price", {"H100": 2.5}), ["H100=2.5"])
        self.assertEqual(texts("stats", True), ["on"])
        self.assertEqual(texts("stats", False) + texts("top", None), [])
        self.assertEqual(texts("rules", (Path("a"), "b")), ["a", "b"])
        self.assertEqual(texts("memory_margin", 0.05), ["0.05"])
        self.assertEqual(texts("global_batch", 4096), ["4096"])

    def test_switches_and_lists_reach_the_library(self):
        found = astra.search(**SMALL, set=["tp=2,4", "pp=1"], stats=True, variants=True, top=50)
        self.assertLessEqual({plan.strategy.tp for plan in found.best}, {2, 4})
        self.assertEqual({plan.strategy.pp for plan in found.best}, {1})

    def test_every_option_of_the_table_is_a_keyword(self):
        for name in ("search", "estimate", "explain", "export", "improve", "gpus", "prices"):
            listed = asked.program(name, "--help", "all")
            for option in astra.options(name):
                self.assertIn(f"--{option.name}", listed)
                self.assertTrue(option.keyword.isidentifier())
                self.assertIn(f"    {option.keyword} = ", getattr(astra, name).__doc__)


if __name__ == "__main__":
    unittest.main()
