"""Mapping files without a descriptor each.

Python's mapping keeps a duplicate of the file's descriptor for as long as it lives, unless it is told not to, which it
can be from 3.13 on. A store may have thousands of files mapped, and what readers hold keeps more of them, so that would
take what connections need, or what the store's next file needs. Before 3.13 a mapping of no file is made, and the file
is mapped in its place by the system's own call.
"""

from __future__ import annotations

import mmap
import sys
from typing import Final

_READ_WRITE: Final = mmap.PROT_READ | mmap.PROT_WRITE

if sys.version_info >= (3, 13):

    def map_shared(fd: int, size: int) -> mmap.mmap:
        """Map the first bytes of a file, shared and writable; the descriptor may be closed after that.

        Raises:
            OSError: the system refuses.
        """
        return mmap.mmap(fd, size, mmap.MAP_SHARED, _READ_WRITE, trackfd=False)

else:
    import ctypes
    import os

    _MAP_FIXED: Final = 0x10
    _MAP_NORESERVE: Final = 0x4000  # Linux's, as all of the store; not among Python 3.11's constants
    _FAILED: Final = ctypes.c_void_p(-1).value
    _system_mmap = ctypes.CDLL(None, use_errno=True).mmap
    _system_mmap.restype = ctypes.c_void_p
    _system_mmap.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    )
    #: Mappings in whose place nothing could be mapped. Their addresses may be another's by now, so they must not be
    #: given back, which happens when the object goes.
    _lost: list[mmap.mmap] = []

    def map_shared(fd: int, size: int) -> mmap.mmap:
        """Map the first bytes of a file, shared and writable; the descriptor may be closed after that.

        Raises:
            OSError: the system refuses.
        """
        mapping = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE, _READ_WRITE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
        if _system_mmap(address, size, _READ_WRITE, mmap.MAP_SHARED | _MAP_FIXED, fd, 0) == _FAILED:
            _lost.append(mapping)
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return mapping
