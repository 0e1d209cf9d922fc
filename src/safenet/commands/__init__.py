"""The commands and what they have in common; `cli.py` registers them and has `main`."""
