"""Adapters that bind `sansio_sse` to libraries that do I/O, one module a library.

Each module has `EventSource`, which reconnects, and `iter_events` or `aiter_events` for one
response that you have already: `requests`, `httpx` (and httpx2, sync and async), `aiohttp`,
`sockets`, `asyncio`, `trio`. Each needs the extra of its name, `sockets` needs none:
`pip install "sansio-sse[httpx]"`.
"""
