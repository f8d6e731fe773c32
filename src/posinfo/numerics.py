"""The numerical profile: one setting of torch under which results are the same everywhere.

:func:`set_environment` comes before the first import of torch and numpy, for both read their
settings from the environment when they are imported. Under it one machine repeats byte for byte,
and x86-64 machines of different make agree on what the suites measure, because the code paths
that differ between processors are switched off. It costs speed that small checks do not need.
"""

import os
import sys
from types import ModuleType

#: What is set before the first import. Threads: sums depend on how they are split.
ENVIRONMENT = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # OpenBLAS, which numpy multiplies matrices with, has kernels a processor; this one runs on
    # every processor that numpy itself runs on.
    "OPENBLAS_CORETYPE": "Nehalem",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    # numpy 2.4's names; a name it does not know is ignored without a word, which is why a
    # test asks numpy which features are in effect.
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
}


def set_environment() -> None:
    """Put the profile into the environment, if it is not there already.

    Raises
    ------
    RuntimeError
        If torch or numpy were imported before: they would keep their own settings, silently.
    """
    if all(os.environ.get(name) == value for name, value in ENVIRONMENT.items()):
        return
    late = [name for name in ("torch", "numpy") if name in sys.modules]
    if late:
        raise RuntimeError(f"{' and '.join(late)} imported before posinfo.numerics")
    os.environ.update(ENVIRONMENT)


def torch_with_profile() -> ModuleType:
    """Import torch and set what can only be set from inside: threads, determinism, mkldnn."""
    import torch

    torch.set_num_threads(1)
    if torch.get_num_interop_threads() != 1:  # it can be set once in a process
        torch.set_num_interop_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.backends.mkldnn.enabled = False
    return torch


def effective() -> dict[str, object]:
    """The settings in effect, as torch and numpy report them (they must be imported)."""
    import numpy
    import torch

    # numpy has no public name for its dispatch table; ``numpy.show_config`` prints the same.
    features = numpy._core._multiarray_umath.__cpu_features__
    dispatch = numpy._core._multiarray_umath.__cpu_dispatch__
    return {
        "torch_cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "torch_threads": torch.get_num_threads(),
        "torch_interop_threads": torch.get_num_interop_threads(),
        "torch_deterministic": torch.are_deterministic_algorithms_enabled(),
        "torch_mkldnn": torch.backends.mkldnn.enabled,
        "numpy_dispatched_features": [name for name in dispatch if features.get(name)],
    }
