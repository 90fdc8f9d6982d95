"""How fast the networks are: inference, training steps, and what each change of the evaluation brings.

    PYTHONPATH=src python3 benchmarks/models.py --preset uit --mode infer train --profile --out out/models
    PYTHONPATH=src python3 benchmarks/models.py --preset uit --mode train --without adjoint stencil moments
    PYTHONPATH=src python3 benchmarks/models.py --mode ratio --device cpu --batch 1

Each variant is printed and appended to `results.jsonl` in the output folder as soon as it is measured; times
are medians over CUDA events (or the clock, on a CPU) after a warm-up. `--profile` prints the 20 kernels that
take longest. `--without` undoes a change: `moments` (values formed on the fine grid), `reassociation` (the M
× M kernel), `adjoint` (resizing backward by scattering), `stencil` (the library's depthwise convolution),
`channels-last`.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

CHANGES = ("moments", "reassociation", "adjoint", "stencil", "channels-last")
MODES = ("infer", "train", "ratio")
KERNELS = 20


@dataclass(frozen=True)
class Variant:
    """What is measured."""

    preset: str
    mode: str
    batch: int
    n: int
    device: str
    compile: str
    without: tuple[str, ...]

    @property
    def label(self) -> str:
        """A name fit for a file."""
        less = "".join(f"-no-{change}" for change in self.without)
        return f"{self.preset}-{self.mode}-b{self.batch}-{self.compile}{less}"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", nargs="+", default=["uit"])
    parser.add_argument("--mode", nargs="+", choices=MODES, default=["infer", "train"])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--n", type=int, default=201)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--compile", default="default", help="off, default, max-autotune-no-cudagraphs, …")
    parser.add_argument("--without", nargs="*", choices=CHANGES, default=[])
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--code", action="store_true", help="keep the generated code beside the results")
    parser.add_argument("--out", type=Path, default=Path("out/models"))
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "eitlens-inductor")
    return parser.parse_args()


@contextmanager
def undone(without: tuple[str, ...]) -> Iterator[None]:
    """The networks with some changes undone; `moments` and `reassociation` are settings, see `network`."""
    from torch import Tensor
    from torch.nn import functional as fn

    from eitlens.models import layers, resize

    def library(x: Tensor, weight: Tensor) -> Tensor:
        return fn.conv2d(x, weight.to(x.dtype), padding=1, groups=x.shape[1])

    resized = resize.interpolate if "adjoint" in without else resize.resize
    with patch.object(layers, "depthwise", library if "stencil" in without else layers.depthwise):
        modules = [
            f"eitlens.models.{name}"
            for name in ("uit", "unet", "hybrid", "hybrid_blocks", "mwo", "attention_blocks")
        ]
        patches = [patch(f"{module}.resize", resized) for module in modules]
        for item in patches:
            item.start()
        try:
            yield
        finally:
            for item in patches:
                item.stop()


def network(variant: Variant) -> Any:
    """The preset, with the settings that undo a change where asked."""
    import torch

    from eitlens.models import create

    settings: dict[str, Any] = {}
    if "reassociation" in variant.without:
        settings["evaluation"] = "explicit"
    torch.manual_seed(0)
    net = create(variant.preset, faithful="moments" in variant.without, **settings).to(variant.device)
    if "channels-last" in variant.without:
        for parameter in net.parameters():
            parameter.data = parameter.data.contiguous()
    return net


def inference(variant: Variant) -> Callable[[], object]:
    """A forward pass in bfloat16 (float32 on a CPU)."""
    import torch

    net = network(variant).eval()
    forward = net if variant.compile == "off" else torch.compile(net, mode=variant.compile, fullgraph=True)
    x = torch.randn(variant.batch, 3 * net.config.currents, variant.n, variant.n, device=variant.device)

    def step() -> object:
        with torch.no_grad(), torch.autocast(variant.device, torch.bfloat16, enabled=variant.device != "cpu"):
            return forward(x)

    return step


def training(variant: Variant) -> Callable[[], object]:
    """Forward, cross entropy, backward and a step of Adam."""
    import torch
    from torch.nn import functional as fn

    net = network(variant).train()
    forward = net if variant.compile == "off" else torch.compile(net, mode=variant.compile, fullgraph=True)
    adam = torch.optim.Adam(net.parameters(), lr=1e-4, fused=variant.device != "cpu")
    x = torch.randn(variant.batch, 3 * net.config.currents, variant.n, variant.n, device=variant.device)
    target = (torch.rand(variant.batch, 1, variant.n, variant.n, device=variant.device) < 0.13).float()

    def step() -> object:
        with torch.autocast(variant.device, torch.bfloat16, enabled=variant.device != "cpu"):
            logits = forward(x)
        loss = fn.binary_cross_entropy_with_logits(logits, target)
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        adam.zero_grad(set_to_none=True)
        return loss

    return step


def durations(step: Callable[[], object], device: str, repeat: int) -> list[float]:
    """Milliseconds of each of `repeat` calls."""
    import torch

    if device == "cpu":
        marks = [time.perf_counter()]
        for _ in range(repeat):
            step()
            marks.append(time.perf_counter())
        return [1e3 * (b - a) for a, b in pairwise(marks)]
    events: list[Any] = [torch.cuda.Event(enable_timing=True) for _ in range(repeat + 1)]  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()
    events[0].record()
    for event in events[1:]:
        step()
        event.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) for a, b in pairwise(events)]


def kernels(step: Callable[[], object], steps: int = 3) -> list[dict[str, Any]]:
    """GPU kernels by time: milliseconds and launches a step, longest first."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
    rows = [
        {"ms": event.self_device_time_total / 1e3 / steps, "calls": event.count / steps, "kernel": event.key}
        for event in recorded.key_averages()
        if event.self_device_time_total > 0
    ]
    return sorted(rows, key=lambda row: -float(row["ms"]))


def family(kernel: str) -> str:
    """What sort of work a kernel does, by its name."""
    name = kernel.lower()
    if name.startswith("triton"):
        return "generated reduction" if "_red_" in name or "_per_" in name else "generated pointwise"
    for word, sort in (("nvjet", "matrix product"), ("gemm", "matrix product"), ("bmm", "matrix product")):
        if word in name and not any(part in name for part in ("fprop", "dgrad", "wgrad", "implicit")):
            return sort
    if any(word in name for word in ("conv", "fprop", "dgrad", "wgrad", "cudnn", "xmma", "cutlass")):
        return "convolution"
    return "copy" if "mem" in name or "copy" in name else "other"


def show(rows: list[dict[str, Any]]) -> None:
    """The profile, by family and by kernel."""
    total = sum(row["ms"] for row in rows)
    sums: dict[str, float] = {}
    for row in rows:
        sums[family(row["kernel"])] = sums.get(family(row["kernel"]), 0.0) + row["ms"]
    by_family = ", ".join(f"{sort} {ms:.2f}" for sort, ms in sorted(sums.items(), key=lambda item: -item[1]))
    print(f"    {total:.2f} ms in kernels a step: {by_family}")
    for row in rows[:KERNELS]:
        print(f"    {row['ms']:8.3f} ms {row['calls']:6.1f} × {row['kernel'][:118]}", flush=True)


def record(out: Path, variant: Variant, result: dict[str, Any]) -> None:
    """Append a line to the results."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / "results.jsonl").open("a") as file:
        file.write(json.dumps(asdict(variant) | machine(variant.device) | result) + "\n")


def machine(device: str) -> dict[str, str]:
    """Where it was measured."""
    import torch

    name = torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine()
    return {"machine": name, "torch": torch.__version__}


def keep_code(cache: Path, out: Path, label: str, since: float) -> None:
    """Copy the modules the compiler has written since then: they show what was fused with what."""
    written = [
        path
        for path in cache.rglob("*.py")
        if path.stat().st_mtime >= since and "def call(" in path.read_text()
    ]
    for index, path in enumerate(sorted(written, key=lambda path: path.stat().st_mtime)):
        shutil.copy(path, out / f"{label}-{index}.py")


def measure(variant: Variant, args: argparse.Namespace) -> None:
    """Build, compile, warm up, time and, where asked, profile one variant."""
    import torch

    torch.compiler.reset()
    began, clock = time.time(), time.perf_counter()
    with undone(variant.without):
        step = (inference if variant.mode == "infer" else training)(variant)
        step()
        ready = time.perf_counter() - clock
        durations(step, variant.device, max(3, args.repeat // 5))
        times = durations(step, variant.device, args.repeat)
    median = statistics.median(times)
    result: dict[str, Any] = {
        "ms": median,
        "images_per_second": 1e3 * variant.batch / median,
        "ready_s": ready,
    }
    if variant.device == "cuda":
        result["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
        torch.cuda.reset_peak_memory_stats()
    print(
        f"{variant.label:<52} {median:9.2f} ms {result['images_per_second']:9.0f} images/s"
        f"  (ready {ready:.0f} s, {min(times):.2f} … {max(times):.2f}, {result.get('peak_gib', 0):.1f} GiB)",
        flush=True,
    )
    record(args.out, variant, result)
    if args.profile and variant.device == "cuda":
        rows = kernels(step)
        show(rows)
        (args.out / f"{variant.label}-profile.json").write_text(json.dumps(rows, indent=1))
    if args.code:
        keep_code(args.cache, args.out, variant.label, began)


def ratio(variant: Variant, args: argparse.Namespace) -> None:
    """The published order of operations against ours, turn by turn in one run."""
    explicit = inference(
        Variant(**(asdict(variant) | {"without": ("moments", "reassociation"), "compile": "off"}))
    )
    ours = inference(Variant(**(asdict(variant) | {"without": (), "compile": "off"})))
    for step in (explicit, ours):
        step()
    pairs = [
        (durations(explicit, variant.device, 1)[0], durations(ours, variant.device, 1)[0])
        for _ in range(args.repeat)
    ]
    slow, fast = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(
        f"{variant.label:<52} explicit {slow:.1f} ms, ours {fast:.1f} ms: {slow / fast:.2f} times as fast",
        flush=True,
    )
    record(args.out, variant, {"explicit_ms": slow, "ms": fast, "ratio": slow / fast})


def main() -> None:
    """Measure every variant asked for."""
    args = arguments()
    args.cache.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(args.cache))
    args.out.mkdir(parents=True, exist_ok=True)
    import torch

    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    for preset in args.preset:
        for mode in args.mode:
            variant = Variant(
                preset, mode, args.batch, args.n, args.device, args.compile, tuple(args.without)
            )
            (ratio if mode == "ratio" else measure)(variant, args)


if __name__ == "__main__":
    main()
