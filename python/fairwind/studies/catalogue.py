"""All studies."""

from __future__ import annotations

from fairwind.errors import FairwindError
from fairwind.studies.application_limited_streams import STUDY as APPLICATION_LIMITED_STREAMS
from fairwind.studies.congestion_control_evaluation import (
    STUDY as CONGESTION_CONTROL_EVALUATION,
)
from fairwind.studies.duration import STUDY as DURATION
from fairwind.studies.impact_on_others import STUDY as IMPACT_ON_OTHERS
from fairwind.studies.queue_disciplines import STUDY as QUEUE_DISCIPLINES
from fairwind.studies.rate_limit_granularity import STUDY as RATE_LIMIT_GRANULARITY
from fairwind.studies.remembered_windows import STUDY as REMEMBERED_WINDOWS
from fairwind.studies.satellite_startup import STUDY as SATELLITE_STARTUP
from fairwind.studies.study import Study
from fairwind.studies.thin_streams_today import STUDY as THIN_STREAMS_TODAY
from fairwind.studies.thin_vs_five_greedy import STUDY as THIN_VS_FIVE_GREEDY
from fairwind.studies.thin_vs_greedy import STUDY as THIN_VS_GREEDY


def studies() -> dict[str, Study]:
    """Give every study by its name."""
    every = (
        APPLICATION_LIMITED_STREAMS,
        THIN_VS_GREEDY,
        DURATION,
        THIN_VS_FIVE_GREEDY,
        QUEUE_DISCIPLINES,
        IMPACT_ON_OTHERS,
        RATE_LIMIT_GRANULARITY,
        THIN_STREAMS_TODAY,
        CONGESTION_CONTROL_EVALUATION,
        SATELLITE_STARTUP,
        REMEMBERED_WINDOWS,
    )
    return {study.name: study for study in every}


def study_named(name: str) -> Study:
    """Give one study.

    Raises
    ------
    FairwindError
        If there is none of this name.
    """
    known = studies()
    if name not in known:
        raise FairwindError(f"there is no study {name!r}", f"there are: {', '.join(known)}")
    return known[name]
