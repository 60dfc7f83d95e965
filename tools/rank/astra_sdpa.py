"""Megatron-LM's local layers as Astra's stack `torch` counts on them:

    --transformer-impl local --spec astra_sdpa layer_spec

Attention is torch's scaled_dot_product_attention, not products and a softmax through memory. Norms
take --sequence-parallel. AdamW is torch's fused kernel, unless TransformerEngine or Apex bring one.
Importing the module puts all of it in place; layer_spec is what --spec names. Megatron core 0.16
and newer; `astra export` writes it beside scripts of that stack.
"""
import contextlib
import importlib
import types

import torch
import torch.nn.functional as F
from megatron.core import tensor_parallel
from megatron.core.models import backends
from megatron.core.models.gpt import gpt_layer_specs
from megatron.core.transformer import transformer_block
from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.utils import is_layer_window_attention

FLASH = (8, 0)  # compute capability; the kernel of older GPUs knows no groups of queries


class Norm(torch.nn.Module):
    returns_residual = False

    def __init__(self, config, hidden_size, eps=1e-5, **_):
        super().__init__()
        self.eps, self.width = eps, (hidden_size,)
        self.shift = 1 if config.layernorm_zero_centered_gamma else 0
        self.weight = torch.nn.Parameter(torch.full(self.width, 1.0 - self.shift))
        self.bias = None
        if config.normalization == "LayerNorm":
            self.bias = torch.nn.Parameter(torch.zeros(hidden_size))
        for x in self.parameters():
            x.sequence_parallel = config.sequence_parallel

    def forward(self, x):
        weight = self.weight + 1 if self.shift else self.weight
        if self.bias is None:
            return F.rms_norm(x, self.width, weight, self.eps)
        return F.layer_norm(x, self.width, weight, self.bias, self.eps)


class Attention(MegatronModule):
    def __init__(self, config, layer_number, attn_mask_type, attention_type,
                 attention_dropout=None, softmax_scale=None, **_):
        super().__init__(config=config)
        if getattr(config, "softmax_type", "vanilla") != "vanilla":
            raise ValueError("astra_sdpa: attention has no sinks")
        if config.context_parallel_size > 1:
            raise ValueError("astra_sdpa: attention knows no context parallelism")
        windowed = is_layer_window_attention(config.window_size, config.window_attn_skip_freq,
                                             layer_number)
        self.window = config.window_size[0] if windowed else -1
        self.scale = softmax_scale
        self.dropout = config.attention_dropout if attention_dropout is None else attention_dropout
        self.copies = torch.cuda.get_device_capability() < FLASH

    def forward(self, query, key, value, attention_mask=None, attn_mask_type=None,
                attention_bias=None, packed_seq_params=None, **_):
        if packed_seq_params is not None or attention_bias is not None:
            raise ValueError("astra_sdpa: attention takes whole sequences without a bias")
        if 0 <= self.window < query.size(0) - 1:
            raise ValueError("astra_sdpa: attention has no windows")
        groups = query.size(2) // key.size(2)
        if groups > 1 and self.copies:
            key, value = (x.repeat_interleave(groups, dim=2) for x in (key, value))
        q, k, v = (x.permute(1, 2, 0, 3) for x in (query, key, value))
        dropout = self.dropout if self.training else 0.0
        with self.random(dropout):
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale,
                                               dropout_p=dropout,
                                               enable_gqa=q.size(1) != k.size(1))
        o = o.permute(2, 0, 1, 3)
        return o.reshape(o.size(0), o.size(1), -1)

    def random(self, dropout):
        """Ranks that share a sequence by heads drop different scores."""
        if dropout > 0 and not self.config.sequence_parallel:
            return tensor_parallel.get_cuda_rng_tracker().fork()
        return contextlib.nullcontext()


def layer_spec(config, vp_stage=None):
    config = getattr(config, "transformer", config)
    block = gpt_layer_specs.get_gpt_decoder_block_spec(
        config, use_transformer_engine=False, normalization=config.normalization,
        qk_l2_norm=config.qk_l2_norm, vp_stage=vp_stage)
    block.layer_norm = Norm
    return block


def use_in_local_layers():
    backends.LocalSpecProvider.core_attention = lambda self: Attention
    backends.LocalSpecProvider.layer_norm = lambda self, *_, **__: Norm
    # Before core 0.19 --spec names no function.
    of_spec = transformer_block._get_block_submodules

    def submodules(config, spec, vp_stage=None, *rest, **words):
        spec = layer_spec(config, vp_stage) if spec is layer_spec else spec
        return of_spec(config, spec, vp_stage, *rest, **words)
    transformer_block._get_block_submodules = submodules


def use_fused_adam():
    optimizer = importlib.import_module("megatron.core.optimizer")
    if optimizer.Adam is not torch.optim.AdamW:
        return

    class AdamW(torch.optim.AdamW):
        def __init__(self, *args, **words):
            words.setdefault("fused", True)
            super().__init__(*args, **words)
    torch.optim.AdamW = optimizer.Adam = AdamW


def stand_in_for_transformer_engine():
    """Recompute of single modules and multi-token prediction ask for it without a guard."""
    recompute = importlib.import_module("megatron.core.tensor_parallel.random")
    if not hasattr(recompute, "FP8GlobalStateManager"):
        recompute.FP8GlobalStateManager = types.SimpleNamespace(is_fp8_enabled=lambda: False)
        recompute.activation_recompute_forward = lambda **_: contextlib.nullcontext()
        recompute.fp8_autocast = lambda **_: contextlib.nullcontext()
        prediction = importlib.import_module("megatron.core.transformer.multi_token_prediction")
        prediction.is_inference_column_parallel_linear = lambda _: False


use_in_local_layers()
use_fused_adam()
stand_in_for_transformer_engine()
