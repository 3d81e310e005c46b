"""Connects the kernel's coverage (coverage.c) with the libFuzzer that is in atheris."""

import ctypes
from pathlib import Path
from types import ModuleType
from typing import Final

SOURCE: Final = Path(__file__).with_name("coverage.c")

_PLACES: Final = 1 << 16  # as in coverage.c
_COMPARISONS: Final = tuple(f"{kind}{size}" for kind in ("cmp", "const_cmp") for size in (1, 2, 4, 8))


def connect(kernel: ModuleType, libfuzzer: ModuleType) -> object:
    """Let libFuzzer see which places of the kernel an input reaches; what comes back must live as long as it runs."""
    ours, theirs = ctypes.CDLL(kernel.__file__), ctypes.CDLL(libfuzzer.__file__)
    for name in _COMPARISONS:
        _point(ours, f"coverage_{name}", getattr(theirs, f"__sanitizer_cov_trace_{name}"))
    _point(ours, "coverage_switch", theirs["__sanitizer_cov_trace_switch"])

    counters = (ctypes.c_uint8 * _PLACES).in_dll(ours, "coverage_counters")
    # Each counter has an address and a word of flags, which are only shown; a counter here stands for several places.
    places = (ctypes.c_size_t * (2 * _PLACES))(*(number for place in range(_PLACES) for number in (place + 1, 0)))
    for function, table in (("__sanitizer_cov_8bit_counters_init", counters), ("__sanitizer_cov_pcs_init", places)):
        start = ctypes.addressof(table)
        theirs[function](ctypes.c_void_p(start), ctypes.c_void_p(start + ctypes.sizeof(table)))
    return places


def _point(library: ctypes.CDLL, pointer: str, function: object) -> None:
    address = ctypes.cast(function, ctypes.c_void_p)  # type: ignore[arg-type]  # a function of a library is one
    ctypes.c_void_p.in_dll(library, pointer).value = address.value
