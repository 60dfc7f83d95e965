#!/usr/bin/env python3
"""Writes src/import/megatron/primus_models.def from a checkout of Primus.

    python3 tools/primus_models.py CHECKOUT COMMIT DATE >src/import/megatron/primus_models.def

Decoders of primus/configs/models/megatron, one line each: the settings that change time or memory, with those of
the files that they extend. Needs PyYAML.
"""
import glob
import os
import sys

import yaml

KEYS = """num_layers hidden_size ffn_hidden_size num_attention_heads group_query_attention num_query_groups kv_channels
max_position_embeddings position_embedding_type rotary_base rotary_percent rotary_scaling_factor use_rope_scaling
rope_scaling_factor mscale mscale_all_dim vocab_size tokenizer_model untie_embeddings_and_output_weights add_bias_linear
add_qkv_bias swiglu quick_geglu squared_relu normalization norm_epsilon apply_layernorm_1p qk_layernorm hidden_dropout
attention_dropout attention_softmax_in_fp32 init_method_std multi_latent_attention q_lora_rank kv_lora_rank qk_head_dim
qk_pos_emb_head_dim v_head_dim num_experts moe_layer_freq moe_ffn_hidden_size moe_router_topk
moe_shared_expert_intermediate_size moe_shared_expert_overlap moe_grouped_gemm moe_token_dispatcher_type
moe_router_score_function moe_router_pre_softmax moe_router_num_groups moe_router_group_topk moe_router_topk_scaling_factor
moe_router_enable_expert_bias moe_router_bias_update_rate moe_router_load_balancing_type moe_aux_loss_coeff moe_router_dtype
moe_expert_capacity_factor moe_use_legacy_grouped_gemm mtp_num_layers window_size window_attn_skip_freq softmax_type
glu_linear_offset activation_func_clamp_value cross_entropy_loss_fusion cross_entropy_fusion_impl
expert_model_parallel_size expert_tensor_parallel_size""".split()
OF_LATENT = "q_lora_rank kv_lora_rank qk_head_dim qk_pos_emb_head_dim v_head_dim mscale mscale_all_dim".split()
OF_ROTARY = "rotary_base rotary_percent rope_scaling_factor use_rope_scaling rotary_scaling_factor".split()
PLAIN = {"rotary_percent": 1.0, "rope_scaling_factor": 8.0, "cross_entropy_fusion_impl": "native", "mscale": 1.0,
         "mscale_all_dim": 1.0, "moe_router_score_function": "softmax", "expert_model_parallel_size": 1}
# Layers that Megatron has and that are not planned, by settings that only their models have.
FOREIGN = """hybrid_override_pattern hybrid_layer_pattern is_hybrid_model mamba_state_dim linear_attention_freq
experimental_attention_variant kda_head_dim lfm_layer_types hc_mult index_topk dsa_indexer_topk moe_latent_size""".split()


def load(path):
    conf = yaml.safe_load(open(path, encoding="utf-8")) or {}
    merged = {}
    for base in conf.pop("extends", None) or conf.pop("includes", None) or conf.pop("bases", None) or []:
        merged.update(load(os.path.join(os.path.dirname(path), base)))
    merged.update(conf)
    return merged


def written(value):
    return {True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else str(value).replace(" ", "")


def settings(model):
    experts, latent = model.get("num_experts"), model.get("multi_latent_attention")
    for key in KEYS:
        value = model.get(key)
        if value is None or value == "" or "$" in str(value) or PLAIN.get(key) == value:
            continue
        if (key.startswith("moe_") or key.startswith("expert_")) and not experts:
            continue
        if (key in OF_LATENT and not latent) or (key == "rotary_scaling_factor" and not latent):
            continue
        if key in OF_ROTARY and model.get("position_embedding_type") == "learned_absolute":
            continue
        if key == "rope_scaling_factor" and not model.get("use_rope_scaling"):
            continue
        if value is False and key != "add_bias_linear":
            continue
        yield key, written(value)


def main(checkout, commit, date):
    print(f"/* Models of Primus {commit} ({date}), written by tools/primus_models.py.\n"
          " *    name, settings by the names of Megatron's arguments\n * Sorted by name. */\n// clang-format off")
    for path in sorted(glob.glob(os.path.join(checkout, "primus/configs/models/megatron", "*.yaml"))):
        model, name = load(path), os.path.basename(path)[:-5]
        if name.endswith("_base") or name in ("language_model", "primus_megatron_model") or not model.get("num_layers"):
            continue
        if model.get("model_type", "gpt") != "gpt" or any(model.get(key) for key in FOREIGN):
            continue
        words = " ".join(f"{key}={value}" for key, value in settings(model))
        print(f'PRIMUS("{name}", "{words}")')
    print("// clang-format on")


if __name__ == "__main__":
    main(*sys.argv[1:4])
