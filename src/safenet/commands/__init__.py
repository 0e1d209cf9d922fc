"""What the commands have in common, and those about a run; `cli.py` has the others and `main`."""
