"""The progress of a run: by counting steps or, where a time is given, by the clock."""

import time
from dataclasses import dataclass, field

_FIRST_STRIDE = 1e-4  # the part of the run that a step is taken for until the speed is known: hardly any


@dataclass
class ProgressTracker:
    """Progress s of a run in (0, 1], advanced before each step.

    With `steps` it is (i + 1)/steps, whatever the clock says. With `seconds` every step adds a stride that
    `set_stride` sets, every few steps, to what is left of s divided by how many steps fit in the time left at the
    speed measured. So the schedule ends where the time does, on any machine, and slows down smoothly when the
    machine does.

    Attributes:
        spent: seconds of all earlier sessions of the run, interruptions not counted.
    """

    steps: int | None
    seconds: float
    step: int = 0
    progress: float = 0.0
    stride: float = _FIRST_STRIDE
    spent: float = 0.0
    _began: float = field(default_factory=lambda: time.monotonic())
    _measured_from: tuple[float, int] | None = None

    @property
    def done(self) -> bool:
        """Whether the last step has been taken."""
        return self.progress >= 1

    @property
    def elapsed(self) -> float:
        """Seconds of this session and those before."""
        return self.spent + time.monotonic() - self._began

    def advance(self) -> float:
        """Begin the next step: the progress made when it is done."""
        self.step += 1
        self.progress = self.step / self.steps if self.steps else min(1.0, self.progress + self.stride)
        return self.progress

    def set_stride(self) -> None:
        """Set the stride from the speed since the first call: the steps before it compile the network."""
        now = self.elapsed
        if self._measured_from is None:
            self._measured_from = (now, self.step)
            return
        steps = self.step - self._measured_from[1]
        if self.steps or not steps:
            return
        left = (self.seconds - now) / ((now - self._measured_from[0]) / steps)
        self.stride = (1 - self.progress) / left if left > 1 else 1.0
