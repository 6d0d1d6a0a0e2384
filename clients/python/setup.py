"""Adds the generated stubs to the package while it is built; everything else is pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import generate_stubs  # noqa: E402  (found through the line above)


class BuildWithStubs(build_py):
    """build_py that runs protoc too. An editable install gets its stubs beside the sources."""

    def run(self) -> None:
        super().run()
        out = HERE / "src" if self.editable_mode else Path(self.build_lib)
        generate_stubs.generate(out)


setup(cmdclass={"build_py": BuildWithStubs})
