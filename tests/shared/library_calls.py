"""Which functions of CuPy, RMM, cuDF and nvidia-ml-py the engine calls, and with how many arguments: checked against the libraries that are installed.

``python tests/shared/library_calls.py`` needs no GPU, but the libraries (``pip install 'glassloom[cuda12]'``). It prints what doesn't fit, and fails if
anything doesn't or a library isn't there.
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import re
import sys
from pathlib import Path

CALLS = {
    "pynvml": [
        "nvmlInit()", "nvmlSystemGetDriverVersion()", "nvmlSystemGetProcessName(pid)", "nvmlDeviceGetCount()", "nvmlDeviceGetHandleByIndex(index)",
        "nvmlDeviceGetUUID(handle)", "nvmlDeviceGetName(handle)", "nvmlDeviceGetMemoryInfo(handle)", "nvmlDeviceGetMemoryInfo(handle, version=2)",
        "nvmlDeviceGetCpuAffinity(handle, words)", "nvmlDeviceGetMigMode(handle)", "nvmlDeviceGetMaxMigDeviceCount(handle)",
        "nvmlDeviceGetMigDeviceHandleByIndex(handle, index)", "nvmlDeviceGetEnforcedPowerLimit(handle)", "nvmlDeviceGetMaxClockInfo(handle, kind)",
        "nvmlDeviceGetMaxPcieLinkGeneration(handle)", "nvmlDeviceGetMaxPcieLinkWidth(handle)", "nvmlDeviceGetNvLinkState(handle, link)",
        "nvmlDeviceGetFieldValues(handle, fields)", "nvmlDeviceGetComputeRunningProcesses(handle)", "nvmlDeviceGetGraphicsRunningProcesses(handle)",
        "nvmlDeviceGetClockInfo(handle, kind)", "nvmlDeviceGetPcieThroughput(handle, counter)", "nvmlDeviceGetTotalEccErrors(handle, kind, counter)",
        "nvmlDeviceGetCurrentClocksEventReasons(handle)", "nvmlDeviceGetCurrentClocksThrottleReasons(handle)", "nvmlDeviceGetUtilizationRates(handle)",
        "nvmlDeviceGetPowerUsage(handle)", "nvmlDeviceGetTemperature(handle, sensor)", "nvmlDeviceGetEncoderUtilization(handle)",
        "nvmlDeviceGetDecoderUtilization(handle)", "NVMLError", "NVMLError_FunctionNotFound", "NVML_CLOCK_SM", "NVML_CLOCK_MEM",
        "NVML_PCIE_UTIL_RX_BYTES", "NVML_PCIE_UTIL_TX_BYTES", "NVML_TEMPERATURE_GPU", "NVML_VOLATILE_ECC", "NVML_MEMORY_ERROR_TYPE_CORRECTED",
        "NVML_MEMORY_ERROR_TYPE_UNCORRECTED", "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX", "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX", "NVML_NVLINK_MAX_LINKS",
        "nvmlMemory_v2", "c_nvmlMemory_t.total", "c_nvmlMemory_t.used", "c_nvmlMemory_v2_t.reserved", "c_nvmlUtilization_t.gpu", "c_nvmlUtilization_t.memory",
        "c_nvmlFieldValue_t.nvmlReturn", "c_nvmlFieldValue_t.valueType", "c_nvmlFieldValue_t.value", "c_nvmlFieldValue_t.scopeId", "c_nvmlValue_t.ullVal",
        "c_nvmlValue_t.dVal", "c_nvmlValue_t.uiVal", "c_nvmlValue_t.ulVal", "c_nvmlValue_t.sllVal", "c_nvmlValue_t.siVal", "c_nvmlValue_t.usVal",
    ],
    "cupy": [
        "empty(shape, dtype)", "asnumpy(a, order=0, out=0)", "array(a, order=0)", "get_default_memory_pool()", "get_default_pinned_memory_pool()",
        "RawModule(code=0, options=0)", "RawModule.get_function(name)", "RawKernel", "random.Generator(bits)", "random.Philox4x3210(seed)", "random.RandomState(seed)",
        "random.Generator.poisson", "random.Generator.chisquare", "random.Generator.gamma", "random.Generator.integers", "random.Generator.binomial",
        "random.RandomState.negative_binomial(n, p, size=0)", "random.RandomState.noncentral_chisquare(df, nonc, size=0)",
        "random.RandomState.noncentral_f(dfnum, dfden, nonc, size=0)", "random.RandomState.vonmises(mu, kappa, size=0)",
        "random.RandomState.wald(mean, scale, size=0)", "random.RandomState.zipf(a, size=0)", "linalg.svd(a, compute_uv=0)", "linalg.pinv(a, rcond=0)",
        "argsort(a, axis=0, kind=0)", "take_along_axis(a, indices, axis=0)", "choose(a, choices)", "stack(arrays)", "cuda.Device(number)", "cuda.Device.pci_bus_id",
        "cuda.memory.OutOfMemoryError", "cuda.runtime.memGetInfo()", "cuda.runtime.deviceSynchronize()", "cuda.runtime.CUDARuntimeError",
        "cuda.runtime.ipcGetMemHandle(pointer)", "cuda.runtime.ipcOpenMemHandle(handle, flags)", "cuda.runtime.ipcCloseMemHandle(pointer)",
        "cuda.runtime.cudaIpcMemLazyEnablePeerAccess", "cuda.get_current_stream()", "cuda.Stream.synchronize()", "cuda.UnownedMemory(pointer, size, owner)",
        "cuda.MemoryPointer(memory, offset)", "cuda.Event()", "cuda.Event.record()", "cuda.Event.done", "cuda.get_elapsed_time(began, ended)",
        "cuda.set_allocator(allocator)", "cuda.MemoryPool.used_bytes()", "cuda.MemoryPool.total_bytes()", "cuda.MemoryPool.free_all_blocks()",
        "cuda.PinnedMemoryPool.free_all_blocks()", "cuda.nvtx.RangePush(key)", "cuda.nvtx.RangePop()", "ndarray.base", "ndarray.flags", "ndarray.data",
        "ndarray.fill(value)", "ndarray.get()", "ndarray.copy()", "ndarray.sum(axis=1)", "ndarray.prod(axis=1)", "ndarray.min(axis=1)", "ndarray.max(axis=1)",
        "ndarray.reshape", "ndarray.strides", "ndarray.itemsize", "cuda.MemoryPointer.ptr",
    ],
    "cupyx": ["empty_pinned(shape, dtype, order=0)"],
    "rmm": [
        "mr.CudaMemoryResource()", "mr.ManagedMemoryResource()", "mr.CudaAsyncMemoryResource(initial_pool_size=0, release_threshold=0)",
        "mr.PoolMemoryResource(resource, initial_pool_size=0, maximum_pool_size=0)", "mr.PoolMemoryResource.pool_size()",
        "mr.LimitingResourceAdaptor(resource, allocation_limit=0)", "mr.LoggingResourceAdaptor(resource, log_file_name=0)",
        "mr.TrackingResourceAdaptor(resource)", "mr.StatisticsResourceAdaptor(resource)", "mr.StatisticsResourceAdaptor.allocation_counts",
        "mr.StatisticsResourceAdaptor.upstream_mr", "mr.set_current_device_resource(resource)", "mr.get_current_device_resource()",
        "statistics.Statistics(current_bytes=0, current_count=0, peak_bytes=0, peak_count=0, total_bytes=0, total_count=0)",
        "allocators.cupy.rmm_cupy_allocator(nbytes)",
    ],
    "cudf": [
        "DataFrame.memory_usage()", "Series.memory_usage()", "Index.memory_usage()", "RangeIndex.memory_usage()", "MultiIndex.memory_usage()",
        "DataFrame.host_serialize()", "Series.host_serialize()", "Index.host_serialize()", "DataFrame.host_deserialize(header, frames)",
        "Series.host_deserialize(header, frames)", "Index.host_deserialize(header, frames)", "from_pandas(value)", "DataFrame.to_pandas()", "Series.to_pandas()",
        "Index.to_pandas()", "DataFrame.nans_to_nulls()", "Series.nans_to_nulls()", "concat(blocks)", "set_option(name, value)", "Series.count()",
        "Series.sum()", "Series.prod()", "Series.min()", "Series.max()", "Series.mean()", "Series.astype(dtype)", "DataFrame.rename(columns=0)",
        "DataFrame.reset_index(drop=0)", "DataFrame.assign()", "DataFrame.groupby(keys, dropna=0, sort=0)", "DataFrame.drop_duplicates()",
        "DataFrame.merge(right, how=0, left_on=0, right_on=0, suffixes=0)", "DataFrame.sort_values(by)", "DataFrame.iloc", "DataFrame.columns", "DataFrame.take(places)", "DataFrame.dropna(how=0, thresh=0, subset=0)", "Series.dropna()", "DataFrame.copy(deep=0)",
    ],
}  # fmt: skip
"""By module: attributes, or calls of them; a number stands for any value of an argument that is given by its name."""
PACKAGES = {"pynvml": "nvidia-ml-py", "rmm": "rmm", "cudf": "cudf", "cupy": "cupy", "cupyx": "cupy"}
_UNKNOWN = object()


def problems(module: str) -> list[str]:
    """Return which of a module's calls the installed library doesn't take."""
    library = importlib.import_module(module)
    return [problem for call in CALLS[module] for problem in [_problem(library, call)] if problem]


def gap_problems() -> list[str]:
    """Return where the installed CuPy differs from what `glassloom.backends.cupy_gaps` says that it lacks."""
    import numpy

    path = Path(__file__).parents[2] / "engine/glassloom/backends/cupy_gaps.py"
    spec = importlib.util.spec_from_file_location("cupy_gaps", path)
    gaps = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gaps)
    found = []
    for module, told in gaps.FUNCTIONS.items():
        theirs, ours = importlib.import_module(module), importlib.import_module(module.replace("numpy", "cupy"))
        there = {name for name in told if hasattr(ours, name)}
        found += [f"{module}.{name}: CuPy has it" for name in sorted(there)]
        names = getattr(theirs, "__all__", dir(theirs))
        functions = {name for name in names if _is_for_arrays(getattr(theirs, name), name)}
        found += [f"{module}.{name}: CuPy lacks it" for name in sorted(functions - told) if not hasattr(ours, name)]
    for name, arguments in gaps.ARGUMENTS.items():
        library = importlib.import_module("cupy" if hasattr(numpy, name) else "cupy.linalg")
        taken = set(arguments.split()) & set(inspect.signature(getattr(library, name)).parameters)
        found += [f"{name}({one}): CuPy takes it" for one in sorted(taken) if name not in ("packbits", "unpackbits")]
    return found


_OF_THE_HOST = frozenset(["fromregex", "get_include", "getbufsize", "geterr", "geterrcall", "info", "nested_iters", "setbufsize", "seterr", "seterrcall", "show_runtime", "test"])  # fmt: skip


def _is_for_arrays(value, name):
    return callable(value) and not isinstance(value, type) and not name.startswith("_") and name not in _OF_THE_HOST


def _problem(library, call):
    path, is_call, arguments = call.partition("(")
    try:
        found = _found(library, path.split("."))
    except (AttributeError, ImportError) as error:
        return f"{library.__name__}.{call}: {error}"
    if not is_call:
        return None
    names = _parameters(library, path, found)
    names = names and {name: kind for name, kind in names.items() if name != "self"}
    if names is None:
        return f"{library.__name__}.{call}: its parameters can't be read"
    return _misfit(f"{library.__name__}.{call}", names, [one for one in re.split(r", *", arguments.rstrip(")")) if one])


def _found(library, path):
    found = library
    for number, name in enumerate(path):
        if not hasattr(found, name) and inspect.ismodule(found):
            importlib.import_module(".".join([library.__name__, *path[: number + 1]]))
        if name in {field[0] for field in getattr(found, "_fields_", ())}:  # of C's structures
            return _UNKNOWN
        found = getattr(found, name)
    return found


def _misfit(call, names, arguments):
    positional = [one for one in arguments if "=" not in one]
    places = [name for name in names if not name.startswith("*") and names[name] != "keyword"]
    if len(positional) > len(places) and not any(name.startswith("*") and not name.startswith("**") for name in names):
        return f"{call}: it takes {', '.join(names)}"
    wanted = {one.partition("=")[0] for one in arguments if "=" in one}
    missing = wanted - set(names)
    needed = {name for name in places[len(positional) :] if names[name] == "needed"} - wanted
    if missing and not any(name.startswith("**") for name in names) or needed:
        return f"{call}: it takes {', '.join(names)}"
    return None


def _parameters(library, path, found):
    """Return a function's parameters by name, "needed", "optional" or "keyword"; None if they can't be found out."""
    stub = _from_stub(library, path)
    if stub is not None:
        return stub
    target = found.__init__ if inspect.isclass(found) and not hasattr(found, "__dataclass_fields__") else found
    try:
        signature = inspect.signature(found if not inspect.isclass(found) else target)
    except (TypeError, ValueError):
        signature = None
    if signature is not None and not _says_nothing(signature):
        return {
            ("**" if one.kind is one.VAR_KEYWORD else "*" if one.kind is one.VAR_POSITIONAL else "") + name: (
                "keyword" if one.kind is one.KEYWORD_ONLY else "needed" if one.default is one.empty else "optional"
            )
            for name, one in signature.parameters.items()
        }
    return _from_text(found.__doc__) or _from_text(target.__doc__)


def _says_nothing(signature):
    return [name for name in signature.parameters if name not in ("self", "cls")] == ["args", "kwargs"]


def _from_text(text):
    """Return the parameters that Cython writes into a docstring's first line."""
    found = re.match(r"\s*[\w.]*\((.*?)\)(?:\s*->.*)?\s*$", (text or "").strip().partition("\n")[0])
    if found is None:
        return None
    parts = [one.strip() for one in re.split(r",(?![^()]*\))", found[1]) if one.strip() and one.strip() != "self"]
    names, kind = {}, None
    for one in parts:
        if one == "*":
            kind = "keyword"
        elif one != "/":
            name = re.split(r"\s|:", one.partition("=")[0].partition(":")[0].strip())[-1]
            names[name] = kind or ("optional" if "=" in one else "needed")
    return names


def _from_stub(library, path):
    """Return the parameters of RMM's functions, which its wheel describes in a file."""
    if library.__name__ != "rmm" or not path.startswith("mr."):
        return None
    tree = ast.parse((Path(library.__file__).parent / "pylibrmm/memory_resource/_memory_resource.pyi").read_text())
    node = tree
    for name in [*path.split(".")[1:]]:
        node = next((one for one in node.body if getattr(one, "name", "") == name), None)
        if node is None:
            return None
    if isinstance(node, ast.ClassDef):
        node = next((one for one in node.body if getattr(one, "name", "") == "__init__"), None)
    if node is None:
        return {}
    places = [one.arg for one in node.args.args]
    optional = set(places[len(places) - len(node.args.defaults) :])
    return {name: "optional" if name in optional else "needed" for name in places if name != "self"}


def version_of(module: str) -> str:
    """Return the installed version of a module's package, whichever CUDA it is for."""
    for name in (PACKAGES[module], *(f"{PACKAGES[module]}-{cuda}" for cuda in ("cu12", "cu13", "cuda12x", "cuda13x"))):
        try:
            return f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return "not installed"


def main() -> int:
    """Run the command; return its exit status."""
    os.environ["RAPIDS_NO_INITIALIZE"] = "1"  # cuDF looks for a device when it is imported
    failed = False
    for module, calls in CALLS.items():
        if importlib.util.find_spec(module) is None:
            failed = True
            print(f"{module:8} isn't installed")
            continue
        found = problems(module) + (gap_problems() if module == "cupy" else [])
        failed = failed or bool(found)
        print(
            f"{module:8} {version_of(module)}: {len(calls) - len(found)} of {len(calls)} calls fit", *found, sep="\n  "
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
