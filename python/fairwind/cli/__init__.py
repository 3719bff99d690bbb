"""The command line: data on standard output, everything else on standard error.

Exit codes: 0 all well; 1 some simulations or scripts failed; 2 wrong usage or input, or something
that the person can mend; 130 interrupted (finished simulations are kept).

The commands are thin: they read arguments, call the package, and print. Map: `commands` the verbs,
`scripts` the one for packetdrill, `output` frames as text, `errors` exceptions as exit codes,
`doctor` what this machine has, `model` closed forms.
"""

from fairwind.cli.commands import app, main

__all__ = ["app", "main"]
