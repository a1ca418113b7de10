"""Runs generated CUDA C on the CPU, compiled by a C++ compiler; and compiles it for GPUs by NVRTC, which needs none.

Blocks of a kernel run one after the other; the threads of one that share memory are threads of the CPU, which wait for each other as on a device.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from glassloom.backends.cupy_ import KERNEL_OPTIONS
from glassloom.backends.indexed_draws import FUNCTIONS

_ONE = "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh floor ceil trunc rint fabs"
_TWO = "pow atan2 hypot copysign"
_FUNCTIONS = "".join(
    f"inline {kind} {name}({kind} x) {{ return __builtin_{name}{end}(x); }}"
    for name in _ONE.split()
    for kind, end in (("double", ""), ("float", "f"))
) + "".join(
    f"inline {kind} {name}({kind} x, {kind} y) {{ return __builtin_{name}{end}(x, y); }}"
    for name in _TWO.split()
    for kind, end in (("double", ""), ("float", "f"))
)  # as <cmath> has them, which takes the compiler ten times as long to read
_SHIM = (
    f"""
{_FUNCTIONS}
"""
    + """
#include <pthread.h>
#define __global__
#define __device__
#define __shared__ static
struct Index { unsigned x; };
static Index blockDim, gridDim;
static thread_local Index blockIdx, threadIdx;
static pthread_barrier_t barrier;
static void __syncthreads() { pthread_barrier_wait(&barrier); }
extern "C" void begin(unsigned blocks, unsigned threads) { gridDim.x = blocks; blockDim.x = threads; pthread_barrier_init(&barrier, nullptr, threads); }
extern "C" void be(unsigned block, unsigned thread) { blockIdx.x = block; threadIdx.x = thread; }
"""
)
THREADS = 4
"""Threads of a block."""
ARCHITECTURES = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90")
COMPILER = shutil.which("g++") or shutil.which("c++")


class OnCpu:
    """Launches kernels on NumPy's arrays, and keeps their sources."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.sources, self.loaded = folder, [], {}

    def launch(self, source, n_blocks, arguments):
        self.sources.append(source)
        if source.text not in self.loaded:
            path = self.folder / f"kernel{len(self.loaded)}.cpp"
            path.write_text(_SHIM + source.text)
            # CUDA's rounding to whole numbers and no contraction, as on the device
            subprocess.run([COMPILER, "-std=c++17", "-O0", "-ffp-contract=off", "-shared", "-fPIC", "-w", path, "-o", path.with_suffix(".so")], check=True)  # fmt: skip
            self.loaded[source.text] = ctypes.CDLL(str(path.with_suffix(".so")))
        library, values = self.loaded[source.text], [_argument(one) for one in arguments]
        library.begin(n_blocks, THREADS)
        waits = "__syncthreads" in source.text

        def run(threads):
            for block in range(n_blocks):
                for thread in threads:
                    library.be(block, thread)
                    getattr(library, source.name)(*values)

        if not waits:
            run(range(THREADS))
            return
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(run, [(thread,) for thread in range(THREADS)]))

    @staticmethod
    def empty(shape, dtype):
        return np.empty(shape, dtype)

    @staticmethod
    def owns(value):
        return isinstance(value, np.ndarray)


def _argument(value):
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, np.generic):
        return np.ctypeslib.as_ctypes_type(value.dtype)(value.item())
    return ctypes.c_longlong(value)


def nvrtc():
    """Return NVRTC's library, None where it isn't installed."""
    spec = importlib.util.find_spec("nvidia")
    roots = [] if spec is None else list(spec.submodule_search_locations or [])
    found = [path for root in roots for path in Path(root).glob("cuda_nvrtc/lib/libnvrtc.so.*")]
    return ctypes.CDLL(str(found[0])) if found else None


def compiled(library, text: str, architecture: str) -> bytes:
    """Return a kernel's machine code for an architecture; raise AssertionError with the compiler's log if there is none."""
    program = ctypes.c_void_p()
    assert library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None) == 0
    options = [f"--gpu-architecture={architecture}".encode(), *(option.encode() for option in KERNEL_OPTIONS)]
    code = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    if code:
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        raise AssertionError(f"{architecture}: {log.value.decode()}\n{text}")
    library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    machine_code = ctypes.create_string_buffer(size.value)
    library.nvrtcGetCUBIN(program, machine_code)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return machine_code.raw


def as_one_program(texts) -> str:
    """Return kernels as one program, each with a name of its own: NVRTC takes a second to start."""
    kernels = [text.removeprefix(FUNCTIONS) for text in sorted(texts)]
    renamed = [
        re.sub(r"void (fused_fold|fused|draw)\(", rf"void \1_{number}(", text) for number, text in enumerate(kernels)
    ]
    return FUNCTIONS + "\n".join(renamed)
