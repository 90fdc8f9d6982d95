"""How much to do at once: batches of any size are cut into chunks that fit a memory budget."""

import torch

_CPU_BUDGET = 2 * 2**30
_CUDA_FRACTION = 0.5


def chunk_size(bytes_per_sample: int, device: torch.device) -> int:
    """How many samples fit the budget: 2 GiB on a CPU, half of what is free on a GPU; at least one."""
    budget = _CPU_BUDGET
    if device.type == "cuda":
        budget = int(_CUDA_FRACTION * torch.cuda.mem_get_info(device)[0])
    return max(1, budget // max(1, bytes_per_sample))
