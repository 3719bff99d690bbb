"""JUnit XML for CI: one test case for each condition and row, or for whatever else was judged.

The form is that of the Apache Ant JUnit task, as GitLab, Jenkins and GitHub's actions read it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from fairwind.answers.conditions import Judgement, Outcome

ELEMENTS = {Outcome.FAILED: "failure", Outcome.UNDECIDED: "error"}

FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot say."""


@dataclass(frozen=True)
class JUnitCase:
    """A test case.

    Attributes
    ----------
    group, name : str
        The class that it is shown in, and what was judged.
    element : str or None
        ``failure``, ``error`` or ``skipped``; None of a case that passed.
    outcome : str
        The outcome in a word.
    evidence, text : str
        The numbers, and all of it in a line.
    """

    group: str
    name: str
    element: str | None
    outcome: str
    evidence: str
    text: str


def junit_document(suite: str, judgements: Sequence[Judgement]) -> bytes:
    """Write outcomes of conditions as a JUnit document; what is undecided is an error.

    Parameters
    ----------
    suite : str
        What was compared.
    """
    cases = []
    for one in judgements:
        where = f" [{one.settings}]" if one.settings else ""
        cases.append(
            JUnitCase(
                group=one.column,
                name=f"{one.condition.text}{where}",
                element=ELEMENTS.get(one.outcome),
                outcome=one.outcome.value,
                evidence=one.evidence,
                text=str(one),
            )
        )
    return document_of_cases(suite, cases, tuple(ELEMENTS.values()))


def document_of_cases(suite: str, cases: Sequence[JUnitCase], elements: Sequence[str]) -> bytes:
    """Write test cases as a JUnit document.

    Parameters
    ----------
    elements : sequence of str
        Those that are counted at its head.
    """
    counts = {
        ("skipped" if element == "skipped" else f"{element}s"): str(
            sum(one.element == element for one in cases)
        )
        for element in elements
    }
    totals = {"name": _xml_text(suite), "tests": str(len(cases)), **counts}
    root = ElementTree.Element("testsuites", totals)
    inside = ElementTree.SubElement(root, "testsuite", totals)
    for one in cases:
        attributes = {"classname": _xml_text(one.group), "name": _xml_text(one.name)}
        case = ElementTree.SubElement(inside, "testcase", attributes)
        if one.element is None:
            ElementTree.SubElement(case, "system-out").text = _xml_text(one.evidence)
        else:
            about = {"message": _xml_text(one.evidence), "type": one.outcome}
            ElementTree.SubElement(case, one.element, about).text = _xml_text(one.text)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _xml_text(text: str) -> str:
    return FORBIDDEN.sub("?", text)
