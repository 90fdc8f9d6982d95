"""Does attention have higher frequencies in its latents than convolutions do? Spectra of the levels of networks.

    python validation/latent_spectra.py FOLDER [FOLDER …] --device cuda --out results/latent_spectra.json

The paper says so of UIT and a U-Net, and shows four channels of one body for each (Figs. 9 and 10). FOLDER is a run, or
weights that `eitlens benchmark table1 --train uit/0 unet/0 unet-big/0 --keep KEPT` kept: KEPT/plain/uit/0 and so on.
All channels of every level, 200 test bodies of the paper's data, τ = 0. Beside each network stands one of the same
architecture that was never trained, and beside all of them the spectra of φ and ∇φ and of the inclusion itself.
Frequencies are relative to the level's own grid, see `eitlens.evaluate.spectra`.

With or without folders, the latents that the cells of Table 1 have kept are measured: four channels of one body and
three levels for each cell, in 8 bits, which is what the paper's figures show. Docs quote those.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from study import OUT, expect
from torch import Tensor

from eitlens.dataset import Samples, preset
from eitlens.dataset.simulate import Simulator
from eitlens.evaluate.examples import Examples
from eitlens.evaluate.spectra import RINGS, LevelSpectrum, power, spectra, summary
from eitlens.figures.style import picture
from eitlens.files import write_json
from eitlens.models import Network
from eitlens.models.trained import Trained
from eitlens.paper.cells import TABLE1, read_table
from eitlens.weights import find

BATCH, SEED = 10, 1127802
RESULTS = Path(__file__).parents[1] / "results"
PLACES = ("first", "coarsest", "next")
"""The levels that cells keep: the first, the last on the coarsest grid, and the next after it."""
SHADES = ("k", "tab:red", "tab:blue", "tab:green", "tab:purple", "tab:orange")


def bodies(count: int, device: torch.device) -> list[Samples]:
    """The first test bodies of the paper's data, in batches."""
    recipe = preset("paper")
    start, simulate = recipe.ranges["test"][0], Simulator.build(recipe, device)
    return [
        simulate(torch.arange(k, min(k + BATCH, start + count))) for k in range(start, start + count, BATCH)
    ]


def seen(trained: Trained, batches: list[Samples]) -> Iterator[Tensor]:
    """What the network reads."""
    for batch in batches:
        yield trained.features(batch.difference[:, : trained.currents.count].to(trained.device))


def untrained(network: Network) -> Network:
    """The same architecture, as it begins."""
    torch.manual_seed(SEED)
    return type(network)(network.config)


def entry(level: LevelSpectrum) -> dict[str, Any]:
    """The record of a level."""
    middle = torch.arange(RINGS + 1) + 0.5
    return {
        "high": float(level.high.mean()),
        "interval": level.interval,
        "high_by_power": float(level.by_power[RINGS // 2 :].sum()),
        "mean_frequency": float((level.by_channel * middle).sum() / RINGS),
        "channels": level.channels,
        "silent": level.silent,
        "rings": level.by_channel.tolist(),
    }


def study(trained: Trained, batches: list[Samples]) -> dict[str, dict[str, Any]]:
    """Every level of a network, trained and not."""
    network = trained.network.eval()
    begun = untrained(network).to(trained.device).eval()
    return {
        name: {level: entry(found) for level, found in spectra(one, seen(trained, batches)).items()}
        for name, one in (("trained", network), ("untrained", begun))
    }


def surroundings(trained: Trained, batches: list[Samples]) -> dict[str, Any]:
    """The spectra of what goes in and of what should come out."""
    fields = torch.cat([power(x).cpu() for x in seen(trained, batches)])
    masks = torch.cat([power(batch.mask[:, None].float()).cpu() for batch in batches])
    return {"input": entry(summary(fields)), "truth": entry(summary(masks))}


def kept() -> dict[str, dict[str, dict[str, float]]]:
    """By level and network: the share of power above ½ in the channels that the cells of all noise levels kept."""
    powers: dict[tuple[str, str], list[Tensor]] = {}
    for cell in read_table(RESULTS / TABLE1):
        file = cell.folder(RESULTS / TABLE1) / "examples.npz"
        levels = Examples.read(file).latents if file.exists() else {}
        for place, level in zip(PLACES, levels.values(), strict=False):
            powers.setdefault((place, cell.preset), []).append(power(level[:, None].double()))
    found: dict[str, dict[str, dict[str, float]]] = {place: {} for place in PLACES}
    for (place, name), parts in powers.items():
        whole = summary(torch.cat(parts))
        found[place][name] = {
            "high": float(whole.high.mean()),
            "interval": whole.interval,
            "channels": len(whole.high),
        }
        print(f"  {place}, {name}: {whole.high.mean():.3f} ± {whole.interval:.3f}")
    return found


def assess(found: dict[str, dict[str, dict[str, float]]]) -> None:
    """Expect what the findings say of the latents that were kept."""
    coarsest, after = found["coarsest"], found["next"]
    expect(
        coarsest["uit"]["high"] > coarsest["unet"]["high"],
        "on the coarsest grid UIT has more high frequencies",
    )
    expect(
        after["uit"]["high"] < 0.5 * after["unet"]["high"],
        "on the next, behind its attention, it has far fewer",
    )
    expect(
        coarsest["unet-attention"]["high"] > coarsest["unet"]["high"],
        "attention adds some to the U-Net as well",
    )


def tell(networks: dict[str, Any]) -> None:
    """Print the share of power above the frequency ½, the levels of one grid beside each other."""
    levels = dict.fromkeys(level for found in networks.values() for level in found["trained"])
    for level in levels:
        parts = []
        for name, found in networks.items():
            if level in found["trained"]:
                after, before = found["trained"][level], found["untrained"][level]
                parts.append(
                    f"{name} {after['high']:.3f} ± {after['interval']:.3f} (untrained {before['high']:.3f})"
                )
        print(f"  {level}: " + ", ".join(parts))


def draw(networks: dict[str, Any], path: Path) -> None:
    """Power against frequency, a panel a level, a line a network; untrained ones dotted."""
    levels = list(dict.fromkeys(k for found in networks.values() for k in found["trained"]))
    across = (torch.arange(RINGS) + 0.5) / RINGS
    with picture(path, -(-len(levels) // 5), 5, 2.4) as axes:
        for panel, level in zip(axes.flat, levels, strict=False):
            for colour, (name, found) in zip(SHADES, networks.items(), strict=False):
                for kind, style in (("trained", "-"), ("untrained", ":")):
                    rings = found[kind].get(level, {}).get("rings", [])[:RINGS]
                    # A coarse grid has rings without a frequency.
                    points = [(x, y) for x, y in zip(across.tolist(), rings, strict=False) if y > 0]
                    panel.semilogy(
                        [x for x, _ in points],
                        [y for _, y in points],
                        style,
                        color=colour,
                        label=f"{name}, {kind}",
                    )
            panel.set(title=level, xlabel="frequency", ylim=(1e-6, 1))
        axes.flat[0].legend(fontsize=5)
        for panel in list(axes.flat)[len(levels) :]:
            panel.set_axis_off()


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", help="runs, or folders of kept weights")
    parser.add_argument("--bodies", type=int, default=200)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=OUT / "latent_spectra.json")
    options = parser.parse_args()
    print("Spectra of latents")
    of_cells = kept()
    record: dict[str, Any] = {"kept": of_cells}
    if options.folders:
        record |= of_networks(options.folders, options.bodies, torch.device(options.device))
    write_json(options.out, record)
    assess(of_cells)


def of_networks(folders: list[str], count: int, device: torch.device) -> dict[str, Any]:
    """Every level of trained networks, and what is around them."""
    batches, networks = bodies(count, device), dict[str, Any]()
    for folder in folders:
        trained = Trained.open(find(folder), device).at(preset("paper").n)
        name = trained.network.preset if trained.network.preset not in networks else str(folder)
        networks[name] = study(trained, batches) | {"currents": trained.currents.count}
        print(f"  {name}: done", flush=True)
    around = surroundings(trained, batches)
    tell(networks)
    draw(networks, OUT / "latent-spectra.png")
    print(f"  input {around['input']['high']:.4f}, truth {around['truth']['high']:.4f}")
    expect(
        around["truth"]["high"] > 10 * around["input"]["high"],
        "the inclusion has higher frequencies than φ and ∇φ",
    )
    return {"bodies": count, "networks": networks} | around


if __name__ == "__main__":
    main()
