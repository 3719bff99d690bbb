"""A plan and a run as HTML for notebooks: name, description, main measures."""

from __future__ import annotations

from fairwind.html import block, line, table
from fairwind.preview.description import describe
from fairwind.results import Results, readable_overview
from fairwind.scenario.plan import Plan


def plan_html(plan: Plan) -> str:
    """Give what would run, as `fairwind check` describes it; captures have only a name."""
    is_simulated = "flows" in plan.cells[0].experiment
    lines = describe(plan, plan.cells, "run") if is_simulated else []
    return block(
        plan.name,
        line(plan.description),
        *(line(f"warning: {warning}") for warning in plan.warnings),
        table(("subject", "description"), lines) if lines else "",
    )


def results_html(results: Results) -> str:
    """Give the summary of a run.

    Raises
    ------
    FairwindError
        If it is no run, or a table is damaged.
    """
    manifest = results.manifest
    plan = manifest.plan
    extent = (
        f"{plan.runs} runs: {len(plan.cells)} cells, {plan.replicates} replicates each; "
        f"engine {manifest.engine}; folder {results.folder}"
    )
    answer = results.answer()
    failed = f"{len(results.failures)} runs failed: see `failures`" if results.failures else ""
    return block(
        plan.name,
        line(plan.description),
        line(extent),
        line(failed),
        *(line(paragraph) for paragraph in (answer.paragraphs if answer else ())),
        *(table(headers, rows) for headers, rows in readable_overview(results)),
        line(f"Tables: {', '.join(results.table_names)}."),
    )
