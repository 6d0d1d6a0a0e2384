#!/usr/bin/env python3
"""Generates the typed stubs of the API: protos/ -> winnow/<service>/v1/*_pb2.py, *_pb2.pyi.

    generate_stubs.py --out DIR             stubs only
    generate_stubs.py --out DIR --package   stubs and the client's sources: DIR is then ready to be
                                            put on PYTHONPATH (tests do this)

Generated code is never committed. Needs grpcio-tools, mypy-protobuf and googleapis-common-protos.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src"
PROTOS = HERE.parent.parent / "protos"


def plugin(name: str) -> str:
    """A protoc plugin of this Python's environment."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        sys.exit(f"generate_stubs: {name} is not installed: pip install mypy-protobuf")
    return found


def include_dirs(protos: Path) -> list[str]:
    """Where protoc finds winnow/, google/rpc/ and google/protobuf/."""
    spec = importlib.util.find_spec("google.rpc")
    tools = importlib.util.find_spec("grpc_tools")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("generate_stubs: google/rpc is missing: pip install googleapis-common-protos")
    if tools is None or not tools.submodule_search_locations:
        sys.exit("generate_stubs: protoc is missing: pip install grpcio-tools")
    googleapis = Path(next(iter(spec.submodule_search_locations))).parent.parent
    well_known = Path(next(iter(tools.submodule_search_locations))) / "_proto"
    return [f"-I{protos}", f"-I{googleapis}", f"-I{well_known}"]


def protoc(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "grpc_tools.protoc", *arguments]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"generate_stubs: protoc failed:\n{done.stderr or done.stdout}")


def generate(out: Path, protos: Path = PROTOS) -> None:
    """Writes the stubs below `out`/winnow."""
    files = sorted(str(path.relative_to(protos)) for path in protos.glob("winnow/**/*.proto"))
    if not files:
        sys.exit(f"generate_stubs: no .proto files in {protos}: build from a clone of Winnow")
    services = [name for name in files if name.endswith("_service.proto")]
    out.mkdir(parents=True, exist_ok=True)
    includes = include_dirs(protos)
    protoc(
        [
            *includes,
            f"--plugin=protoc-gen-mypy={plugin('protoc-gen-mypy')}",
            f"--python_out={out}",
            f"--mypy_out=quiet:{out}",
            *files,
        ]
    )
    protoc(
        [
            *includes,
            f"--plugin=protoc-gen-mypy_grpc={plugin('protoc-gen-mypy_grpc')}",
            f"--grpc_python_out={out}",
            f"--mypy_grpc_out=quiet:{out}",
            *services,
        ]
    )
    for folder in {(out / name).parent for name in files}:
        for package in (folder, folder.parent):
            (package / "__init__.py").touch()


def stage(out: Path) -> None:
    """Writes the whole package below `out`, as an installation would."""
    target = out / "winnow"
    target.mkdir(parents=True, exist_ok=True)
    for source in [*SOURCES.glob("winnow/*.py"), SOURCES / "winnow" / "py.typed"]:
        shutil.copyfile(source, target / source.name)
    generate(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, required=True, help="directory to write into")
    parser.add_argument("--package", action="store_true", help="the client's sources too")
    arguments = parser.parse_args()
    (stage if arguments.package else generate)(arguments.out)


if __name__ == "__main__":
    main()
