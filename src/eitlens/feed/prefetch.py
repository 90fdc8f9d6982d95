"""Compute the next item while the present one is used: for items that are a pure function of their number.

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


class Ahead(Generic[T]):
    """`ahead(k)` is `function(k)`, found ready if `ahead(k - 1)` was asked for before."""

    def __init__(self, function: Callable[[int], T], device: torch.device, depth: int = 1) -> None:
        self._function, self._device, self._depth = function, device, depth
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="eitlens-ahead")
        self._ready: dict[int, Future[T]] = {}
        self._stream = _side_stream(device) if device.type == "cuda" else None

    def __call__(self, k: int) -> T:
        """Item k; the next ones are started."""
        wanted = range(k, k + 1 + self._depth)
        for stale in [j for j in self._ready if j not in wanted]:
            self._ready.pop(stale).cancel()
        for j in wanted:
            if j not in self._ready:
                self._ready[j] = self._pool.submit(self._compute, j, self._now())
        item = self._ready.pop(k).result()
        self._hand_over(item)
        return item

    def close(self) -> None:
        """Stop the thread."""
        self._pool.shutdown(cancel_futures=True)

    def _now(self) -> torch.cuda.Event | None:
        """What the caller's stream has been given so far: data and constants an item may be made of."""
        return None if self._stream is None else torch.cuda.current_stream(self._device).record_event()

    def _compute(self, k: int, begun: torch.cuda.Event | None) -> T:
        if self._stream is None or begun is None:
            return self._function(k)
        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            self._stream.wait_event(begun)
            item = self._function(k)
            self._stream.synchronize()
        return item

    def _hand_over(self, item: T) -> None:
        """Keep the side stream from using the memory again before the caller's stream is done with it."""
        if self._stream is None:
            return
        current = torch.cuda.current_stream(self._device)
        for tensor in tensors(item):
            tensor.record_stream(current)


def _side_stream(device: torch.device) -> torch.cuda.Stream:
    stream: torch.cuda.Stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    return stream


def tensors(item: Any) -> Iterator[Tensor]:
    """All tensors in nested tuples, lists and dataclasses."""
    if isinstance(item, Tensor):
        yield item
    elif isinstance(item, tuple | list):
        for part in item:
            yield from tensors(part)
    elif is_dataclass(item) and not isinstance(item, type):
        for field in fields(item):
            yield from tensors(getattr(item, field.name))
