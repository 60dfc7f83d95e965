#!/usr/bin/env python3
"""Writes src/import/megatron/bridge_recipes.def from a checkout of Megatron-Bridge.

    python3 tools/bridge_recipes.py CHECKOUT COMMIT DATE >src/import/megatron/bridge_recipes.def

Recipes are functions without arguments that fill a configuration. They are called here with everything outside of the
recipes' own packages replaced by objects that only remember what is set: no torch, no Megatron, no network. Facts are
kept, one line a recipe: model, split, batch, precision and what else changes time or memory.
"""
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import os
import pkgutil
import re
import sys
import types

PACKAGES = ("megatron.bridge.recipes", "megatron.bridge.perf_recipes")
# Columns of the table, by the names that Megatron's arguments have.
COLUMNS = (
    "tensor_model_parallel_size", "pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size",
    "context_parallel_size", "expert_model_parallel_size", "expert_tensor_parallel_size",
)
# What else has an effect; absent and false ones are left out.
OTHERS = (
    ("model", "sequence_parallel"), ("model", "recompute_granularity"), ("model", "recompute_method"),
    ("model", "recompute_num_layers"), ("model", "recompute_modules"), ("model", "moe_token_dispatcher_type"),
    ("model", "moe_flex_dispatcher_backend"), ("model", "moe_grouped_gemm"), ("model", "moe_shared_expert_overlap"),
    ("model", "cuda_graph_impl"), ("model", "cuda_graph_scope"), ("model", "cross_entropy_loss_fusion"),
    ("model", "pipeline_model_parallel_layout"), ("model", "account_for_embedding_in_pipeline_split"),
    ("model", "account_for_loss_in_pipeline_split"), ("model", "num_layers_in_first_pipeline_stage"),
    ("model", "num_layers_in_last_pipeline_stage"), ("model", "mtp_num_layers"),
    ("model", "moe_router_force_load_balancing"), ("model", "dsa_kernel_backend"), ("model", "cp_comm_type"),
    ("model", "microbatch_group_size_per_vp_stage"),
    ("ddp", "use_distributed_optimizer"), ("ddp", "overlap_grad_reduce"), ("ddp", "overlap_param_gather"),
    ("ddp", "use_megatron_fsdp"),
    ("optimizer", "optimizer"), ("optimizer", "use_precision_aware_optimizer"), ("optimizer", "optimizer_cpu_offload"),
    ("comm_overlap", "tp_comm_overlap"), ("comm_overlap", "delay_wgrad_compute"),
    ("comm_overlap", "overlap_moe_expert_parallel_comm"),
)
# Models that have a preset (src/model/presets.def, model_names.def).
PLANNED = re.compile(
    r"meta-llama/(Meta-)?Llama-[23].*|Qwen/Qwen(2|2\.5|3)-[0-9].*|deepseek-ai/DeepSeek-V[23](-Lite)?"
    r"|moonshotai/(Moonlight-16B-A3B|Kimi-K2-Instruct)|openai/gpt-oss-.*|google/gemma-(2-.*|3-1b-.*)"
    r"|zai-org/GLM-(4\.[567].*(?<!V)|5(\.[12])?)|allenai/OLMoE-.*|LGAI-EXAONE/(EXAONE-4\.0-.*|K-EXAONE-236B-A23B)"
    r"|MiniMaxAI/MiniMax-M2.*|mistralai/(Mistral|Mixtral)-.*|Qwen/Qwen3-Next-.*"
    r"|nvidia/(NVIDIA-)?Nemotron-(H-(8|47|56)B|3-(Nano-30B|Super-120B|Ultra-550B)).*")
# Models that recipes build from a class of Bridge's own.
PROVIDERS = {"OlMoEModelProvider": "allenai/OLMoE-1B-7B-0924"}
# Hybrids that recipes describe themselves, by width and layers.
HYBRIDS = {(4096, 52): "nvidia/Nemotron-H-8B-Base-8K", (8192, 98): "nvidia/Nemotron-H-47B-Base-8K",
           (8192, 118): "nvidia/Nemotron-H-56B-Base-8K", (2688, 52): "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"}
# What the providers of models set where a recipe says nothing (models/gpt_provider.py, hybrid/hybrid_provider.py and
# nemotronh/nemotron_h_bridge.py, glm_moe_dsa/glm5_bridge.py); other models with experts have these settings in all of their recipes.
PROVIDED = ((r".*", "cross_entropy_loss_fusion", True),
            (r"nvidia/.*Nemotron-3-.*", "moe_grouped_gemm", True),
            (r"nvidia/.*Nemotron-3-.*", "moe_token_dispatcher_type", "alltoall"),
            (r"nvidia/.*Nemotron-3-.*", "moe_shared_expert_overlap", True),
            (r"zai-org/GLM-5.*", "cp_comm_type", "allgather"))
# Settings of the shape: a recipe that sets one trains another model than the one it names.
SHAPE = ("num_layers", "hidden_size", "ffn_hidden_size", "num_attention_heads", "num_moe_experts", "vocab_size")


SECTIONS = (
    "checkpoint", "dataset", "ddp", "dist", "ft", "inprocess_restart", "logger", "nvrx_straggler", "optimizer",
    "profiling", "rerun_state_machine", "rng", "scheduler", "straggler", "tensor_inspect", "tokenizer", "train",
    "validation",
)


class Remembered:
    """Remembers what is set. What was never set is None, but for the sections that every configuration has."""

    def __init__(self, _path="", **kept):
        self.__dict__.update(_path=_path, _args=(), **kept)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if self._path.endswith("ConfigContainer") and name in SECTIONS:
            setattr(self, name, Remembered(name))
            return getattr(self, name)
        return None


class Stub:
    """Stands for anything of another package."""

    def __init__(self, path):
        self._path = path

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub(f"{self._path}.{name}")

    def __call__(self, *args, **kwargs):
        last = self._path.rsplit(".", 1)[-1]
        if last in ("from_hf_pretrained", "from_hf_config", "from_pretrained") and args:
            return HuggingFace(args[0])
        if last == "distributed_fused_adam_with_cosine_annealing":
            return Remembered(self._path), Remembered(self._path)
        made = Remembered(self._path, **kwargs)
        made.__dict__["_args"] = args
        return made

    def __mro_entries__(self, bases):
        return (Remembered,)

    def __instancecheck__(self, value):
        return isinstance(value, Remembered) and value._path == self._path

    def __or__(self, other):
        return self

    __ror__ = __or__

    def __getitem__(self, key):
        return self


class HuggingFace:
    def __init__(self, name):
        self.name = name if isinstance(name, str) else getattr(name, "_args", [""])[0]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: Remembered(
            "model", _hf=self.name, tensor_model_parallel_size=1, pipeline_model_parallel_size=1,
            context_parallel_size=1, expert_model_parallel_size=1, sequence_parallel=False, rotary_base=0,
            vocab_size=0)

    def __len__(self):  # of a tokenizer, whose words the model has already
        return 0


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules of the recipes are read from the checkout, all others outside of Python's own are stubs."""

    def __init__(self, root):
        self.root = root

    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top in sys.stdlib_module_names:
            return None
        own = any(name == p or name.startswith(p + ".") for p in PACKAGES)
        base = os.path.join(self.root, *name.split("."))
        if own and os.path.isdir(base):
            return importlib.util.spec_from_file_location(
                name, os.path.join(base, "__init__.py"), submodule_search_locations=[base])
        if own and os.path.isfile(base + ".py"):
            return importlib.util.spec_from_file_location(name, base + ".py")
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = lambda attr: Stub(f"{spec.name}.{attr}") if not attr.startswith("__") else None
        return module

    def exec_module(self, module):
        pass


def text(value):
    """As it is written in the table; None = it says nothing."""
    if isinstance(value, bool):
        return "True" if value else None
    if isinstance(value, Stub):
        return value._path.rsplit(".", 1)[-1]
    if isinstance(value, Remembered):
        return None
    if isinstance(value, (list, tuple)):
        parts = [text(v) for v in value]
        return ",".join(p for p in parts if p) if all(isinstance(v, (str, Stub)) for v in value) else None
    return None if value is None else str(value)


LETTERS = {"embedding": "E", "decoder": "t", "mtp": "m", "loss": "L"}


def layout(value):
    """Lists of the layers of each stage, as the string that stands for them."""
    if not isinstance(value, list) or not all(isinstance(stage, list) for stage in value):
        return value if isinstance(value, str) else None
    stages = ["".join(LETTERS.get(layer, "?") for layer in stage) for stage in value]
    return None if "?" in "".join(stages) else "|".join(stages)


def sums_in_fp32(cfg):
    """The precision's own setting counts; without one gradients are summed in fp32."""
    own = cfg.mixed_precision.grad_reduce_in_fp32 if isinstance(cfg.mixed_precision, Remembered) else None
    return own is not False


def precision(value):
    if isinstance(value, Remembered):
        name = value._path.rsplit(".", 1)[-1]
        # nvfp4 and the other kinds of fp8 are parts of the function's name, or of a setting behind it
        return name if "mixed" in name or "bf16" in name else "bf16_mixed"
    return text(value) or "bf16_mixed"


# What LoRA has where a recipe does not say (peft/lora.py).
LORA_DIM, LORA_TARGETS = 32, ["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"]


def adapters(peft):
    """Rank, matrices and dropout of LoRA; None = of adapters that are not planned."""
    if not isinstance(peft, Remembered) or not peft._path.endswith("LoRA"):
        return None
    words = [f"lora_dim={peft.dim or LORA_DIM}", f"lora_targets={','.join(peft.target_modules or LORA_TARGETS)}"]
    return words + ([f"lora_dropout={peft.dropout}"] if peft.dropout else [])


def fields(cfg, recipe):
    model, train = cfg.model, cfg.train
    if not isinstance(model, Remembered):
        return None
    hf = model.__dict__.get("_hf") or PROVIDERS.get(model._path.rsplit(".", 1)[-1], "")
    own = model.__dict__
    described = not hf and (own.get("hidden_size"), own.get("num_layers")) in HYBRIDS
    if described:
        hf = HYBRIDS[own["hidden_size"], own["num_layers"]]
    if not PLANNED.fullmatch(hf):
        return None
    if not described and any(model.__dict__.get(name) not in (None, 0) for name in SHAPE):
        return None
    seq = (cfg.dataset.seq_length if cfg.dataset is not None else None) or model.seq_length
    columns = [text(getattr(model, name)) or "0" for name in COLUMNS]
    columns += [text(train.micro_batch_size) or "0", text(train.global_batch_size) or "0", text(seq) or "0"]
    others = []
    for section, name in OTHERS:
        part = getattr(cfg, section)
        value = getattr(part, name) if isinstance(part, Remembered) else None
        for models, provided, otherwise in PROVIDED:
            if value is None and section == "model" and name == provided and re.fullmatch(models, hf):
                value = otherwise
        if name == "use_distributed_optimizer":  # either switches both on (training/config.py)
            value = value or cfg.optimizer.use_distributed_optimizer
        value = layout(value) if name == "pipeline_model_parallel_layout" else text(value)
        if name == "optimizer" and value == "adam":
            continue
        if name == "cuda_graph_scope" and (text(model.cuda_graph_impl) or "none") == "none":
            continue
        if value and value not in ("none", "p2p") and " " not in value:
            others.append(f"{name}={value}")
    if not sums_in_fp32(cfg):
        others.append("grad_reduce_in_fp32=False")
    if "_peft" in recipe:
        lora = adapters(cfg.peft)
        if lora is None:
            return None
        others += lora
    if not all(c.isdigit() for c in columns):
        return None
    return hf, columns, precision(cfg.mixed_precision), " ".join(others)


def functions(root):
    for package in PACKAGES:
        module = importlib.import_module(package)
        for info in pkgutil.walk_packages(module.__path__, package + "."):
            try:
                inner = importlib.import_module(info.name)
            except Exception as e:  # a package of models that are not planned
                print(f"{info.name}: {e}", file=sys.stderr)
                continue
            for name, function in sorted(vars(inner).items()):
                if name.endswith("_config") and not name.startswith("_") and inspect.isfunction(function):
                    yield name, function


def main():
    root, commit, date = sys.argv[1:4]
    sys.meta_path.insert(0, Finder(os.path.join(root, "src")))
    rows, left = {}, {}
    for name, function in functions(root):
        if name in rows:
            continue
        try:
            row = fields(function(), name)
        except Exception as e:
            row, left[name] = None, f"{type(e).__name__}: {e}"
        if row:
            rows[name] = row
    for name, why in sorted(left.items()):
        print(f"left out: {name}: {why}", file=sys.stderr)
    print(f"""/* Recipes of Megatron-Bridge {commit} ({date}), written by tools/bridge_recipes.py.
 *    name, model, tp, pp, vpp, cp, ep, etp, micro-batch, global batch, sequence, precision, other settings
 * 0 = the recipe does not say. Sorted by name. */
// clang-format off""")
    for name, (hf, columns, kind, others) in sorted(rows.items()):
        print(f'RECIPE("{name}", "{hf}", {", ".join(columns)}, "{kind}", "{others}")')
    print("// clang-format on")


main()
