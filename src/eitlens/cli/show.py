"""The voice of the commands: a line of text, and a progress bar."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from rich.progress import Progress


def say(console: Console, text: str, path: Path | None = None, style: str = "") -> None:
    """A line, ended by a path in bold where one is given.

    Neither is taken for markup, whatever brackets a user's names have, and in a pipe both stay on one line.
    """
    line = Text(text, style)
    if path is not None:
        line.append(str(path), "bold")
    console.print(line, soft_wrap=True)


def progress_bar(console: Console) -> "Progress":
    """A bar with the number done, the rate and the time left; nothing in a pipe, where a bar is noise."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    class Rate(ProgressColumn):
        """The number done a second."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "–/s")

    # The speed is a mean over two minutes: shards found on disk would look like lightning otherwise.
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeLeft(),
        console=console,
        speed_estimate_period=120,
        disable=not console.is_terminal,
    )
