"""`python -m eitlens`: the command line where the package is not installed, as with PYTHONPATH=src."""

from eitlens.cli.main import app

app()
