"""What Megatron needs to run where TransformerEngine and its compiled helpers are missing."""
import contextlib
import importlib
import sys
import types


def without_compiled_helpers():
    """Megatron builds a C++ module for its data sets; the one function that mock data needs."""
    import numpy

    def sample_index(dtype):
        def build(sizes, documents, length, epochs, tokens, drop_last=True, extra=1):
            total = epochs * tokens - extra
            count = total // length if drop_last else -(-total // length)
            starts = numpy.cumsum([0] + [int(sizes[d]) for d in documents])
            at = numpy.arange(count + 1, dtype=numpy.int64) * length
            which = numpy.searchsorted(starts, at, side="right") - 1
            return numpy.stack([which, at - starts[which]], axis=1).astype(dtype)
        return build

    helpers = types.ModuleType("megatron.core.datasets.helpers_cpp")
    helpers.build_sample_idx_int32 = sample_index(numpy.int32)
    helpers.build_sample_idx_int64 = sample_index(numpy.int64)
    sys.modules[helpers.__name__] = helpers
    import megatron.core.datasets.utils as utils
    utils.compile_helpers = lambda: None


def without_transformer_engine():
    """Attention and norms of the torch stack, put where Megatron's local layers look for them."""
    import torch
    import torch.nn.functional as F
    import megatron.core.transformer.torch_norm as torch_norm
    import megatron.core.transformer.dot_product_attention as attention
    from megatron.core.transformer.module import MegatronModule

    class Norm(torch.nn.Module):
        returns_residual = False

        def __init__(self, config, hidden_size, eps=1e-5, **_):
            super().__init__()
            self.eps, self.width = eps, (hidden_size,)
            self.weight = torch.nn.Parameter(torch.ones(hidden_size))
            self.bias = None
            if config.normalization == "LayerNorm":
                self.bias = torch.nn.Parameter(torch.zeros(hidden_size))
            for x in self.parameters():
                x.sequence_parallel = config.sequence_parallel

        def forward(self, x):
            if self.bias is None:
                return F.rms_norm(x, self.width, self.weight, self.eps)
            return F.layer_norm(x, self.width, self.weight, self.bias, self.eps)

    class Attention(MegatronModule):
        def __init__(self, config, layer_number, attn_mask_type, attention_type,
                     attention_dropout=None, softmax_scale=None, **_):
            super().__init__(config=config)
            self.scale = softmax_scale

        def forward(self, query, key, value, *_, **__):
            q, k, v = (x.permute(1, 2, 0, 3) for x in (query, key, value))
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale,
                                               enable_gqa=q.size(1) != k.size(1))
            o = o.permute(2, 0, 1, 3)
            return o.reshape(o.size(0), o.size(1), -1)

    class AdamW(torch.optim.AdamW):  # one kernel, as the fused optimizers of other stacks
        def __init__(self, *args, **words):
            words.setdefault("fused", True)
            super().__init__(*args, **words)

    # Recompute of single modules and multi-token prediction ask TransformerEngine without a guard.
    recompute = importlib.import_module("megatron.core.tensor_parallel.random")
    if not hasattr(recompute, "FP8GlobalStateManager"):
        recompute.FP8GlobalStateManager = types.SimpleNamespace(is_fp8_enabled=lambda: False)
        recompute.activation_recompute_forward = lambda **_: contextlib.nullcontext()
        recompute.fp8_autocast = lambda **_: contextlib.nullcontext()
    torch_norm.WrappedTorchNorm = Norm
    attention.DotProductAttention = Attention
    torch.optim.AdamW = AdamW
    import megatron.core.transformer.multi_token_prediction as prediction
    prediction.is_inference_column_parallel_linear = lambda _: False
