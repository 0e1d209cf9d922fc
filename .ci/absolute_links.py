"""[text](docs/page.md) → [text](REPOSITORY/blob/vX.Y.Z/docs/page.md): a package index shows the README alone.

python absolute_links.py FOLDER REPOSITORY also adds the address to pyproject.toml. FOLDER is a copy of the checkout.
"""

import re
import sys
from pathlib import Path


def absolute(readme: str, repository: str, version: str) -> str:
    """Every link to a file of the repository; pictures as raw files."""

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found[1] else "blob"
        return f"{found[1]}[{found[2]}]({repository}/{kind}/v{version}/{found[3]})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)", link, readme)


def main() -> None:
    folder, repository = Path(sys.argv[1]), sys.argv[2].rstrip("/")
    source = (folder / "src" / "safenet" / "__init__.py").read_text(encoding="utf-8")
    version = re.search(r'__version__ = "(.*)"', source)[1]
    readme, project = folder / "README.md", folder / "pyproject.toml"
    readme.write_text(absolute(readme.read_text(encoding="utf-8"), repository, version), encoding="utf-8")
    text = project.read_text(encoding="utf-8")
    addresses = (
        f'[project.urls]\nRepository = "{repository}"\nChangelog = "{repository}/blob/main/CHANGELOG.md"\n'
    )
    project.write_text(text.replace("[project.urls]\n", addresses), encoding="utf-8")


if __name__ == "__main__":
    main()
