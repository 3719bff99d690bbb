"""Answers of runs: what each axis does, whether that is sure, and conditions on it.

Map: `answer` the answer in words and numbers, `effects` contrasts and verdicts, `reasons` why an
axis changed nothing, `competition` queues and losses of those who share a link, `words` sentences,
`conditions` what a comparison must fulfil, `junit` their outcome for CI, `until` adds seeds until
all is decided.
"""

from fairwind.lazy import lazy_names
from fairwind.results.answer import Answer as Answer
from fairwind.results.answer import AxisEffect as AxisEffect
from fairwind.results.answer import Effect as Effect
from fairwind.statistics.decisions import EffectVerdict as EffectVerdict

_HOMES = {
    "Condition": "conditions",
    "Growth": "until",
    "Judgement": "conditions",
    "Look": "until",
    "Outcome": "conditions",
    "answer_of": "answer",
    "judge": "conditions",
    "junit_document": "junit",
    "looks_of": "answer",
    "parse_condition": "conditions",
    "run_until_decided": "until",
}

__all__ = ["Answer", "AxisEffect", "Effect", "EffectVerdict", *_HOMES]

__getattr__ = lazy_names(__name__, _HOMES)
