"""The right aggressiveness of retransmissions in thin streams: a search within limits of harm.

The search finds settings that no other dominates; the claims here ask of its confirmed points what
the thesis' title asks. `greedy` is the question in reverse.
"""

from fairwind.studies import SearchForm, SearchStudy

from .claims import claims, claims_in_reverse, claims_with_kernel

STUDY = SearchStudy(
    name="right-aggressiveness",
    title="The right aggressiveness of retransmissions in thin streams",
    source="Markussen, University of Oslo 2014; the search is ours",
    package=__package__,
    forms={
        "full": SearchForm("tune.toml", claims),
        "reduced": SearchForm("reduced.toml", claims),
        "greedy": SearchForm("greedy.toml", claims_in_reverse),
        "kernel": SearchForm("kernel.toml", claims_with_kernel),
    },
)
