"""Transfers of the running kernel beside simulated ones.

    python -m fairwind_studies.satellite_startup.kernel SIMULATED KERNEL

Both are folders of runs of `policies.toml`, with the same seed; the page of this study tells how to
make the second one. Prints, for each policy and volume, the mean transfer time in both, and its
ratio to constant allocation with the 95 % interval over the phases of the start, paired by seed;
then whether all ratios agree within 10 %, and by how much they differ.

Exit code: 0 they agree, 1 some do not, 2 the folders have nothing in common.
"""

import sys

import fairwind
from fairwind.results import Verdict
from fairwind.studies.panels import interval_in_words

from .on_kernel import kernel_agrees, side_by_side
from .transfers import POLICY, SEGMENTS

CODES = {Verdict.BORNE_OUT: 0, Verdict.UNDECIDED: 2}


def main(simulated: str, kernel: str) -> int:
    """Print one line per policy and volume that both have, and the verdict."""
    both = fairwind.open(simulated), fairwind.open(kernel)
    print("| policy | segments | starts | simulator / s | kernel / s "
          "| simulator: ratio | kernel: ratio | apart |")  # fmt: skip
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for row in side_by_side(*both).iter_rows(named=True):
        ratios = " | ".join(
            f"{row[f'ratio_{side}']:.3f}"
            f"{interval_in_words(row[f'low_{side}'], row[f'high_{side}'], '.3f')}"
            for side in ("simulated", "kernel")
        )
        print(
            f"| {row[POLICY]} | {row[SEGMENTS]:g} | {row['runs']} | {row['time_s_simulated']:.4f} "
            f"| {row['time_s_kernel']:.4f} | {ratios} | {row['off_ratio']:+.2%} |"
        )
    claim = kernel_agrees(*both)
    print(f"\n{claim.statement}\n{claim.verdict.value}: {claim.evidence}")
    return CODES.get(claim.verdict, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
