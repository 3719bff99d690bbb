"""JUnit XML of judged conditions, for CI: one test case for each condition and row.

The form is that of the Apache Ant JUnit task, as GitLab, Jenkins and GitHub's actions read it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from fairwind.answers.conditions import Judgement, Outcome

ELEMENTS = {Outcome.FAILED: "failure", Outcome.UNDECIDED: "error"}

FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot say."""


def junit_document(suite: str, judgements: Sequence[Judgement]) -> bytes:
    """Write outcomes as a JUnit document; what is undecided is an error.

    Parameters
    ----------
    suite : str
        What was compared.
    """
    counts = {
        f"{element}s": str(sum(one.outcome is outcome for one in judgements))
        for outcome, element in ELEMENTS.items()
    }
    totals = {"name": _xml_text(suite), "tests": str(len(judgements)), **counts}
    root = ElementTree.Element("testsuites", totals)
    cases = ElementTree.SubElement(root, "testsuite", totals)
    for one in judgements:
        where = f" [{one.settings}]" if one.settings else ""
        name = _xml_text(f"{one.condition.text}{where}")
        case = ElementTree.SubElement(cases, "testcase", classname=_xml_text(one.column), name=name)
        if one.outcome in ELEMENTS:
            attributes = {"message": _xml_text(one.evidence), "type": one.outcome.value}
            wrong = ElementTree.SubElement(case, ELEMENTS[one.outcome], attributes)
            wrong.text = _xml_text(str(one))
        else:
            ElementTree.SubElement(case, "system-out").text = _xml_text(one.evidence)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _xml_text(text: str) -> str:
    return FORBIDDEN.sub("?", text)
