"""Prefetching: the next item is computed while the present one is used. Items are pure functions of their number.

A thread of its own, and on a GPU a stream of its own, so that neither the host's waiting (rejection sampling
looks at its results) nor the kernels of the next item hold up the ones of the training step.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


class Prefetcher(Generic[T]):
    """`prefetcher(k)` is `function(k)`, found ready if item k - 1 or k itself was the last one asked for.

    `threaded` says whether the next `depth` items are computed in advance. By default they are for a GPU alone: on a
    CPU a second thread would take the cores from the network.
    """

    def __init__(
        self, function: Callable[[int], T], device: torch.device, depth: int = 1, threaded: bool | None = None
    ) -> None:
        self._function, self._device, self._depth = function, device, depth
        threaded = device.type == "cuda" if threaded is None else threaded
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="eitlens-prefetch") if threaded else None
        self._ready: dict[int, Future[T]] = {}
        beside = threaded and device.type == "cuda"
        self._stream = torch.cuda.Stream(device) if beside else None  # type: ignore[no-untyped-call]
        self._last: tuple[int, T] | None = None

    def __call__(self, k: int) -> T:
        """Item k."""
        if self._last is None or self._last[0] != k:
            self._last = (k, self._function(k) if self._pool is None else self._fetch(self._pool, k))
        return self._last[1]

    def _fetch(self, pool: ThreadPoolExecutor, k: int) -> T:
        """Item k, computed in the thread; the next ones are started."""
        wanted = range(k, k + 1 + self._depth)
        for stale in [j for j in self._ready if j not in wanted]:
            self._ready.pop(stale).cancel()
        for j in wanted:
            if j not in self._ready:
                self._ready[j] = pool.submit(self._compute, j, self._now())
        item = self._ready.pop(k).result()
        if self._stream is not None:
            # It must not use the memory again before the stream of the caller is done with it.
            for tensor in tensors(item):
                tensor.record_stream(torch.cuda.current_stream(self._device))
        return item

    def close(self) -> None:
        """Stop the thread."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _now(self) -> torch.cuda.Event | None:
        """The end of the caller's work so far: data and constants that an item may be made of."""
        return None if self._stream is None else torch.cuda.current_stream(self._device).record_event()

    def _compute(self, k: int, begun: torch.cuda.Event | None) -> T:
        if self._stream is None or begun is None:
            return self._function(k)
        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            self._stream.wait_event(begun)
            item = self._function(k)
            self._stream.synchronize()
        return item


def tensors(item: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dataclasses."""
    if isinstance(item, Tensor):
        yield item
    elif isinstance(item, tuple | list):
        for part in item:
            yield from tensors(part)
    elif is_dataclass(item) and not isinstance(item, type):
        for field in fields(item):
            yield from tensors(getattr(item, field.name))
