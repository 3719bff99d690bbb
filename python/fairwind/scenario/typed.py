"""Types of scenarios in Python: what the stub beside this file, `typed.pyi`, defines.

`tools/typed_settings.py` writes the stub from the schema. It is valid Python, too, and read where a
program imports these types: so both have the same names.
"""

from pathlib import Path

_STUB = Path(__file__).with_suffix(".pyi")

exec(compile(_STUB.read_bytes(), _STUB, "exec"))
