"""Answers: the same as the program's, as attributes, dictionaries, text and files."""

import copy
import json
import pickle
import re
import unittest
from pathlib import Path

import asked
import astra_planner as astra
from asked import FITS, SMALL, TOO_BIG

SET = ["--set", "tp=2", "--set", "pp=2", "--set", "dist_opt=on", "--set", "recompute=full",
       "--set", "recompute_method=uniform", "--set", "recompute_layers=1"]
WHERE = ["--model", "llama3-8b", "--cluster", "1x8:H100"]


class Estimates(unittest.TestCase):
    def test_is_the_programs_answer(self):
        plan = astra.estimate(**FITS)
        self.assertEqual(plan.to_dict(), asked.document("estimate", *WHERE, *SET))
        self.assertEqual(str(plan), asked.program("estimate", *WHERE, *SET))

    def test_fields_are_attributes(self):
        plan = astra.estimate(**FITS)
        self.assertIsInstance(plan, astra.Plan)
        self.assertEqual((plan.strategy.tp, plan.strategy.pp, plan.gpus), (2, 2, 8))
        self.assertIs(plan.strategy.dist_opt, True)
        second = plan.to_dict()["stages"][1]
        self.assertEqual(plan.stages[1].memory.weights, second["memory"]["weights"])
        self.assertIsNone(plan.node_groups)
        self.assertIn("step_s", dir(plan))
        with self.assertRaisesRegex(AttributeError, "no field stepp in Estimate: model, gpu"):
            plan.stepp

    def test_fields_are_items_too(self):
        strategy = astra.estimate(**FITS).strategy
        self.assertEqual(dict(strategy)["tp"], 2)
        self.assertEqual(strategy["pp"], strategy.get("pp"))
        self.assertEqual(strategy.get("no_such", 7), 7)
        self.assertNotIn("no_such", strategy)
        self.assertRaises(KeyError, lambda: strategy["to_dict"])

    def test_outlives_its_process_and_its_copy(self):
        plan = astra.estimate(**FITS)
        for again in (pickle.loads(pickle.dumps(plan)), copy.deepcopy(plan)):
            self.assertEqual(again, plan)
            self.assertEqual(str(again), str(plan))

    def test_plans_side_by_side(self):
        beside = astra.compare(["best", "tp=4"], **SMALL)
        self.assertEqual([side.name for side in beside.plans], ["best", "tp=4"])
        self.assertIn("tp", [x.name for x in beside.comparisons[0].differences])
        self.assertRaisesRegex(astra.InputError, "two plans", lambda: astra.compare(["best"], **SMALL))

    def test_megatron_flags(self):
        words = ["--tensor-model-parallel-size", 2, "--bf16", "--use-distributed-optimizer"]
        as_list = astra.explain(**SMALL, flags=words, global_batch=64)
        as_text = astra.explain(**SMALL, flags=" ".join(map(str, words)), global_batch=64)
        self.assertEqual(as_list.strategy.tp, 2)
        self.assertEqual(as_list, as_text)
        self.assertIsNotNone(as_list.gains)

    def test_a_script_is_read(self):
        with asked.folder() as folder:
            script = Path(folder, "train.sh")
            script.write_text("torchrun --nnodes $N pretrain_gpt.py --num-layers 16 "
                              "--hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
                              "--micro-batch-size 1 --global-batch-size 64 --bf16 "
                              "--vocab-size 32000 --max-position-embeddings 2048\n")
            plan = astra.estimate(script, cluster="1x8:H100", env={"N": 1})
        self.assertEqual(plan.source.file, str(script))
        self.assertEqual(plan.strategy.global_batch, 64)


class Searches(unittest.TestCase):
    def test_is_the_programs_answer(self):
        found = astra.search(**SMALL, top=3)
        other = asked.document("search", *WHERE, "--top", "3")
        mine = found.to_dict()
        del mine["elapsed_s"], other["elapsed_s"]
        self.assertEqual(mine, other)
        self.assertLessEqual(len(found.best), 3)
        self.assertIsInstance(found.pareto[0], astra.Plan)
        self.assertIn("Run tp", repr(found))

    def test_a_plan_goes_on_to_the_other_commands(self):
        found = astra.search(**SMALL, top=2)
        for plan in (found, found.best[0], found.to_dict()):
            self.assertEqual(astra.explain(plan).step_s, found.best[0].step_s)
        second = astra.export(found, to="megatron", plan=2)
        self.assertIn(f"--tensor-model-parallel-size {found.best[1].strategy.tp}", second.text)

    def test_saved_answers_are_plans_of_the_program(self):
        found = astra.search(**SMALL, top=2)
        with asked.folder() as folder:
            path = Path(folder, "plan.json")
            found.save(path)
            self.assertEqual(json.loads(path.read_text()), found.to_dict())
            explained = asked.document("explain", str(path))
            self.assertEqual(astra.explain(path).step_s, explained["step_s"])

    def test_a_script_beside_the_answer(self):
        with asked.folder() as folder:
            path = Path(folder, "job.sbatch")
            found = astra.search(**SMALL, export="slurm", output=path)
            self.assertEqual(path.read_text(), found.script)
            self.assertTrue(found.script.startswith("#!/bin/bash\n#SBATCH"))
        self.assertEqual(astra.search(**SMALL, top=1).script, "")

    def test_what_if(self):
        found = astra.search(**SMALL, top=1, what_if=["price:h100=-20%", "gpus=4"])
        cheaper, fewer = found.what_if
        self.assertLess(cheaper.plan.money.usd_per_mtoken, found.best[0].money.usd_per_mtoken)
        self.assertEqual(fewer.plan.gpus, 4)

    def test_files_of_options(self):
        with asked.folder() as folder:
            page, plot = Path(folder, "a.html"), Path(folder, "a.svg")
            astra.search(**SMALL, report=page, plot=plot)
            self.assertIn("</html>", page.read_text())
            self.assertIn("</svg>", plot.read_text())


class Scripts(unittest.TestCase):
    def test_export_writes_files_that_belong_together(self):
        found = astra.search(model="llama3-8b", cluster="2x8:H100", stack="torch", top=1)
        with asked.folder() as folder:
            path = Path(folder, "run.sh")
            script = astra.export(found, to="torchrun", output=path)
            self.assertEqual(path.read_text(), script.text)
            self.assertEqual(script.text, str(script))
            self.assertGreater(len(list(Path(folder).iterdir())), 1)  # the module of stack torch

    def test_export_wants_a_format(self):
        with self.assertRaisesRegex(astra.InputError, "--to is missing"):
            astra.export(astra.estimate(**FITS))

    def test_improve(self):
        with asked.folder() as folder:
            script, better = Path(folder, "train.sh"), Path(folder, "better.sh")
            script.write_text(
                "#!/bin/bash\ntorchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 "
                "--hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
                "--group-query-attention --num-query-groups 8 --vocab-size 128256 --swiglu "
                "--normalization RMSNorm --untie-embeddings-and-output-weights "
                "--position-embedding-type rope --disable-bias-linear --seq-length 8192 "
                "--max-position-embeddings 8192 --global-batch-size 64 --micro-batch-size 1 "
                "--bf16 --tensor-model-parallel-size 8 --sequence-parallel "
                "--use-distributed-optimizer --attention-dropout 0 --hidden-dropout 0\n")
            done = astra.improve(script, cluster="1x8:H100", output=better)
            self.assertEqual(better.read_text(), done.text)
        self.assertIn("+++", done.report)
        self.assertNotIn("--tensor-model-parallel-size 8", done.text)


class Listings(unittest.TestCase):
    def test_are_the_programs(self):
        self.assertEqual(astra.gpus().to_dict(), asked.document("gpus"))
        self.assertEqual(astra.models().to_dict(), asked.document("models"))
        self.assertEqual(astra.prices(gpu="H100", market="spot").to_dict(),
                         asked.document("prices", "--gpu", "H100", "--market", "spot"))

    def test_rows(self):
        names = [row.name for row in astra.models().rows]
        self.assertIn("llama3-70b", names)
        self.assertEqual(len(names), len(asked.document("models")["models"]))
        self.assertEqual({row.gpu for row in astra.prices(gpu="A10").rows}, {"A10"})


class Contract(unittest.TestCase):
    def test_attributes_are_those_of_the_schema(self):
        schema = json.loads((asked.ROOT / "data/schema/plan.schema.json").read_text())["$defs"]
        for kind in (astra.Model, astra.Breakdown, astra.Memory, astra.Stage, astra.Money,
                     astra.Engine, astra.Plan, astra.Search, astra.Strategy, astra.WhatIf):
            rows = schema[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()]
            typed = {name for name in kind.__annotations__ if not name.startswith("_")}
            if kind is astra.Strategy:
                self.assertLessEqual(typed, set(rows["properties"]))
                continue
            self.assertEqual(typed, set(rows["properties"]), kind)
            absent = {name for name in typed if hasattr(kind, name)}
            self.assertEqual(absent, typed - set(rows["required"]), kind)


class Frames(unittest.TestCase):
    def test_without_pandas(self):
        code = ("import sys; sys.modules['pandas'] = None\nimport astra_planner as a\n"
                "try: a.models().to_dataframe()\nexcept ImportError as e: print(e)")
        self.assertEqual(asked.python(code)[1], "to_dataframe() needs pandas: pip install pandas\n")

    def test_columns_are_those_of_csv(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not there")
        found = astra.search(**SMALL, top=2)
        frame = found.to_dataframe()
        self.assertEqual(len(frame), len(found.best) + len(found.pareto))
        self.assertEqual(list(frame.columns),
                         asked.program("search", *WHERE, "--top", "2", "--format", "csv")
                         .splitlines()[0].split(","))
        self.assertEqual(frame.step_s[0], found.best[0].step_s)
        self.assertTrue(frame.dist_opt.dtype == bool and frame.feasible.all())
        self.assertEqual(len(astra.gpus().to_dataframe()), len(astra.gpus().rows))
        with self.assertRaises(astra.NothingFeasible) as caught:
            astra.estimate(**TOO_BIG)
        self.assertFalse(caught.exception.answer.to_dataframe().feasible[0])


if __name__ == "__main__":
    unittest.main()
