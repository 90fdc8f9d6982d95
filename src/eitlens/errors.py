"""The errors a user can cause. A message says what was given, what was expected and the fix, in one line."""


class InputError(ValueError):
    """Something the user gave cannot be used; raised before any work is done."""


class ConvergenceError(RuntimeError):
    """An iteration stopped short of its tolerance; the message gives the residual it reached."""
