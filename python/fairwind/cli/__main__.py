"""``python -m fairwind.cli`` is the command line, too."""

from fairwind.cli import main

main()
