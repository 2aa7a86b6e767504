"""Where an installed ampc has its parts."""

from pathlib import Path

_prefix = Path(__file__).resolve().parent


def program() -> Path:
    """The program itself."""
    return _prefix / "bin" / "ampc"


def rules_dir() -> Path:
    """The rule files that ship with it, such as default.amp."""
    return _prefix / "share" / "ampc" / "rules"


def cmake_dir() -> Path:
    """The package for CMake: `-Dampc_DIR=` this, or the folder of the module on CMAKE_PREFIX_PATH."""
    return _prefix / "share" / "cmake" / "ampc"
