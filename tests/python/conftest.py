"""What all tests share; stands in for the compiled core where it has not been built."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
sys.path.insert(0, str(Path(__file__).parent))


def _core_is_built() -> bool:
    package = Path(__file__).parents[2] / "python" / "fairwind"
    return any(package.glob("_core*.so")) or any(package.glob("_core*.pyd"))


CORE_IS_BUILT = _core_is_built()

if not CORE_IS_BUILT:
    import fake_core

    sys.modules["fairwind._core"] = fake_core
