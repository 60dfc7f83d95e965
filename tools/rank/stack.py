"""What Megatron needs to run where its compiled helpers are missing."""
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
