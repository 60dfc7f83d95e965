#!/usr/bin/env python3
"""Writes src/import/megatron/nemo_trainings.def from a checkout of NeMo's launcher (NeMo-Framework-Launcher).

    python3 tools/nemo_trainings.py CHECKOUT COMMIT DATE >src/import/megatron/nemo_trainings.def

Files of launcher_scripts/conf/training that train decoders, one line each: the settings that change time or memory, by NeMo's
names. Needs PyYAML.
"""
import glob
import os
import re
import sys

import yaml

GROUPS = "baichuan2 chatglm falcon gpt3 llama mistral mixtral nemotron qwen2 starcoder2".split()
KEYS = """micro_batch_size global_batch_size tensor_model_parallel_size pipeline_model_parallel_size
virtual_pipeline_model_parallel_size context_parallel_size expert_model_parallel_size encoder_seq_length
max_position_embeddings num_layers hidden_size ffn_hidden_size num_attention_heads kv_channels num_query_groups
num_moe_experts moe_router_topk moe_grouped_gemm sequence_parallel activations_checkpoint_granularity
activations_checkpoint_method activations_checkpoint_num_layers normalization bias activation
share_embeddings_and_output_weights position_embedding_type rotary_percentage rotary_base layernorm_epsilon
ub_tp_comm_overlap window_size hidden_dropout attention_dropout cross_entropy_loss_fusion overlap_p2p_comm
moe_token_dispatcher_type moe_expert_capacity_factor moe_pad_expert_input_to_capacity defer_embedding_wgrad_compute""".split()
MEANT_FALSE = ("bias", "share_embeddings_and_output_weights", "overlap_p2p_comm")
SUMS = {"multiply": lambda a, b: a * b, "divide": lambda a, b: a / b, "divide_floor": lambda a, b: a // b}


def number(text):
    return float(text) if "." in text else int(text)


def resolved(value, model):
    """${.hidden_size} and ${multiply:4, ${.hidden_size}}; None where that is not all of it."""
    text = re.sub(r"\$\{\.(\w+)\}", lambda m: str(model.get(m.group(1))), str(value))
    found = re.fullmatch(r"\$\{(\w+):\s*([\d.]+),\s*([\d.]+)\}", text)
    if found and found.group(1) in SUMS:
        text = str(SUMS[found.group(1)](number(found.group(2)), number(found.group(3))))
        text = text[:-2] if text.endswith(".0") else text
    return None if "$" in text or " " in text else text


def settings(conf):
    model, optim = conf["model"], conf["model"].get("optim", {})
    yield "precision", conf["trainer"].get("precision", "bf16")
    for key in KEYS:
        value = resolved(model.get(key), model)
        if value in (None, "None") or (value == "False" and key not in MEANT_FALSE):
            continue
        if key.startswith("activations_checkpoint") and not model.get("activations_checkpoint_granularity"):
            continue
        if (key, value) == ("normalization", "layernorm1p"):
            yield "layernorm_zero_centered_gamma", "True"
            value = "LayerNorm"
        yield key, "none" if value == "ALiBi" else value  # no embeddings: a bias on scores
    if model.get("fp8"):
        yield "fp8", "hybrid" if model.get("fp8_hybrid") else "e4m3"
        if model.get("fp8_params"):
            yield "fp8_param_gather", "True"
    if "distributed" in str(optim.get("name")):
        yield "use_distributed_optimizer", "True"
    for key in ("overlap_grad_sync", "overlap_param_sync"):
        if optim.get(key):
            yield key, "True"
    if optim.get("grad_sync_dtype"):
        yield "grad_sync_dtype", optim["grad_sync_dtype"]


def main(checkout, commit, date):
    print(f"/* Trainings of NeMo's launcher {commit} ({date}), written by tools/nemo_trainings.py.\n"
          " *    name, nodes, GPUs of each, settings by NeMo's names\n * Sorted by name. */\n// clang-format off")
    names = []
    for group in GROUPS:
        for path in glob.glob(os.path.join(checkout, "launcher_scripts/conf/training", group, "*.yaml")):
            names.append((f"{group}/{os.path.basename(path)[:-5]}", path))
    for name, path in sorted(names):
        conf = yaml.safe_load(open(path, encoding="utf-8"))
        if "model" not in conf or "num_layers" not in conf["model"]:
            continue
        words = " ".join(f"{key}={value}" for key, value in settings(conf))
        trainer = conf["trainer"]
        print(f'TRAINING("{name}", {int(trainer.get("num_nodes") or 0)}, {int(trainer.get("devices") or 0)}, "{words}")')
    print("// clang-format on")


if __name__ == "__main__":
    main(*sys.argv[1:4])
