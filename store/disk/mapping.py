"""Memory-mapping files without keeping a descriptor for each.

Until Python 3.12 a mapping keeps a duplicate of the file's descriptor for as long as it lives; 3.13 has an option
against that. A store may have thousands of files mapped, and readers keep more of them, so that would use up the
descriptors that connections and the store's next file need. Before 3.13 an anonymous mapping is made, and the file is
mapped in its place by a system call.
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
    #: Mappings whose address range could not be mapped to the file. It may belong to another mapping by now, so it must
    #: not be unmapped, which would happen when the object is freed.
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
