"""Adapters that bind `sansio_sse` to libraries that do I/O, one module a library. None yet."""
