"""How much of a run is done: by counting steps or, where a time is given, by the clock."""

import time
from dataclasses import dataclass, field

# Until the speed is known, a step is taken for this part of the run.
_FIRST_STRIDE = 1e-4


@dataclass
class Clock:
    """Progress s of a run in (0, 1], advanced by `tick` before each step.

    With `steps` it is (i + 1)/steps, whatever the clock says. With `seconds` every step adds a stride that
    `retime` sets, every few steps, to what is left of s divided by how many steps fit in the time left at the
    speed measured. So the schedule ends where the time does, on any machine, and slows down smoothly when the
    machine does.

    Attributes:
        spent: seconds of all sessions of the run, interruptions not counted.
    """

    steps: int | None
    seconds: float
    step: int = 0
    progress: float = 0.0
    stride: float = _FIRST_STRIDE
    spent: float = 0.0
    _began: float = field(default_factory=lambda: time.monotonic())
    _mark: tuple[float, int] | None = None

    @property
    def done(self) -> bool:
        """Whether the last step has been taken."""
        return self.progress >= 1

    @property
    def elapsed(self) -> float:
        """Seconds of this session and those before."""
        return self.spent + time.monotonic() - self._began

    def tick(self) -> float:
        """Begin the next step: the progress made when it is done."""
        self.step += 1
        self.progress = self.step / self.steps if self.steps else min(1.0, self.progress + self.stride)
        return self.progress

    def retime(self) -> None:
        """Set the stride from the speed since the second call: the first steps of a session compile."""
        now = self.elapsed
        if self._mark is None:
            self._mark = (now, self.step)
            return
        steps = self.step - self._mark[1]
        if self.steps or not steps:
            return
        left = (self.seconds - now) / ((now - self._mark[0]) / steps)
        self.stride = (1 - self.progress) / left if left > 1 else 1.0
