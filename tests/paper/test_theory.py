"""The result files behind docs/theory.md: what of the paper's theorems holds, and what does not."""

import json
import math
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "results"


def read(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text())


def test_the_index_function_ranks_the_nodes_and_is_further_from_the_truth_than_a_blank_image():
    last = read("theorem1")["square"]["counts"]["70"]
    assert last["auc"]["median"] > 0.95
    assert last["l2"]["least"] > 1
    assert last["largest"]["least"] > 0.9
    assert last["best"]["median"] < 0.7


def test_on_the_disk_it_converges_in_l2_and_away_from_the_interface_but_not_in_the_sup_norm():
    rows = read("theorem1")["disk"]
    few, many = rows["100"], rows["10000"]
    assert many["l2"] / few["l2"] < 1.1 * math.sqrt(100 / 10000)
    assert many["away"] < 1e-6
    assert many["largest"] > 0.9
    assert many["digits"] > 6000


def test_the_printed_dictionary_is_no_better_than_a_constant():
    found = read("theorem1")["dictionary"]
    assert found["products"] > 0.999 * found["constant"] > 2 * found["squares"]


def test_attention_takes_as_many_channels_as_a_pointwise_map_and_more_than_theorem_2_says():
    found = read("theorem2")
    for a, row in found["needed"]["rows"].items():
        assert row["attention"] == row["pointwise"] > int(a)
        assert found["few"][a]["attention"] > 0.97
    assert max(row["product"] for row in found["parity"].values()) < 1e-8


def test_the_operator_is_negative_and_the_corrected_formulas_find_the_inclusion():
    found = read("eigenvalues")
    assert found["positive"]["better"] == 0
    assert 0.9 < found["bounds"]["least"] < found["bounds"]["most"] < 9
    assert found["example"]["corrected"]["error"] < 1e-9
    assert abs(found["example"]["scaled"]["contrast"] + found["example"]["contrast"]) < 1e-9
