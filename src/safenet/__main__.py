"""`python -m safenet …` is `safenet …`, for an environment whose commands are not on the path."""

from .cli import program

if __name__ == "__main__":
    program()
