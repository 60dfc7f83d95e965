"""What a notebook shows: whole, escaped, of nothing but itself."""

import unittest
import xml.etree.ElementTree as xml

import asked
import astra_planner as astra
from asked import FITS, SMALL, TOO_BIG
from astra_planner import _html


def tree(html):
    """Our HTML is XML too, but for a named blank."""
    return xml.fromstring(html.replace("&nbsp;", " "))


def words(element):
    return " ".join("".join(element.itertext()).split())


class Pages(unittest.TestCase):
    def test_a_search(self):
        found = astra.search(model="llama3-8b", cluster="4x8:H100", top=4)
        page = tree(found._repr_html_())
        rows = page.findall(".//tbody/tr")
        self.assertEqual(len(rows), len(found.best))
        self.assertEqual(rows[0][2].text, str(found.best[0].strategy.tp))
        dots = page.findall(".//circle/title")
        self.assertEqual(len(dots), len(found.pareto))
        self.assertIn(f"on {found.pareto[0].gpus} ", dots[0].text)
        self.assertIn(found.summary, words(page))
        self.assertIn("--tensor-model-parallel-size", words(page))

    def test_a_plan_that_fits_and_one_that_does_not(self):
        self.assertNotIn("Not feasible", words(tree(astra.estimate(**FITS)._repr_html_())))
        with self.assertRaises(astra.NothingFeasible) as caught:
            astra.estimate(**TOO_BIG)
        page = words(tree(caught.exception.answer._repr_html_()))
        self.assertIn("Not feasible", page)
        self.assertIn("GiB to use", page)

    def test_a_plan_of_a_search(self):
        plan = astra.search(**SMALL, top=1).best[0]
        self.assertEqual(len(tree(plan._repr_html_()).findall(".//rect")) > 0, True)
        self.assertEqual(repr(plan)[:6], "<Plan:")

    def test_lists_and_scripts(self):
        models = astra.models()
        page = tree(models._repr_html_())
        self.assertEqual(len(page.findall(".//tbody/tr")), len(models.rows))
        script = astra.export(astra.estimate(**FITS), to="slurm")
        self.assertEqual(tree(script._repr_html_()).find("pre").text, script.text)

    def test_every_text_is_escaped(self):
        evil = '<script>alert("&")</script>'
        fields = astra.search(model="llama3-8b", cluster="4x8:H100", top=2).to_dict()

        def poison(value):
            if isinstance(value, dict):
                return {key: poison(one) for key, one in value.items()}
            if isinstance(value, list):
                return [poison(one) for one in value]
            return evil if isinstance(value, str) else value

        for page in (astra.Search(poison(fields))._repr_html_(),
                     astra.Plan(poison(fields["best"][0]))._repr_html_(),
                     astra.Listing({"rows": [{"a": evil, "b": 1.5, "c": None}]})._repr_html_(),
                     _html.script(evil)):
            self.assertEqual(tree(page).findall(".//script"), [])
            self.assertIn(evil, "".join(tree(page).itertext()))

    def test_needs_nothing_from_elsewhere(self):
        page = astra.search(model="llama3-8b", cluster="4x8:H100", top=2)._repr_html_()
        for word in ("http", "src=", "href=", "url(", "<script", "<style"):
            self.assertNotIn(word, page)

    def test_what_is_not_known(self):
        fields = asked.document("estimate", "--model", "llama3-8b", "--cluster", "1x8:H100",
                                "--set", "tp=3")
        self.assertIn("Not feasible", words(tree(astra.Plan(fields)._repr_html_())))
        plan = {**fields, "money": {"usd_per_hour": None, "usd_per_mtoken": None}}
        self.assertIn("–", words(tree(astra.Plan(plan)._repr_html_())))
        self.assertEqual([_html.number(v) for v in (0, 999, 1234, 5.5e6, 2e12)],
                         ["0", "999", "1.23K", "5.5M", "2T"])


if __name__ == "__main__":
    unittest.main()
