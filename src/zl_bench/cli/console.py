"""The console of commands whose output is in no file."""

from __future__ import annotations

from rich.console import Console


class PipedConsole(Console):
    """Ends when its reader has gone (`| head`), as printing in any other format does."""

    def on_broken_pipe(self) -> None:
        """Leave it to the edge of the process."""
        self.quiet = True
        raise BrokenPipeError
