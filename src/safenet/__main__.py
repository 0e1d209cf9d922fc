"""`python -m safenet …` is `safenet …`, for an environment whose commands are not on the path."""

from .cli import main

if __name__ == "__main__":
    main()
