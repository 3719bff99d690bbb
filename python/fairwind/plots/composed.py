"""Charts composed of charts: layers, panels and rows.

Altair's own classes copy each part several times, when they are made and again when they are
written, to rename the parameters of parts that meet. Our parts have none when they are composed, so
these classes share them. Copies were an eighth of the time that a page takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt


class Layers(alt.LayerChart):
    """Charts on one another; data that all of them draw become data of the whole.

    Parameters
    ----------
    data : InlineData, optional
    layer : sequence of Chart
        The lowest first.
    **kwargs
        As `altair.LayerChart` has them.
    """

    def __init__(
        self,
        data: Any = alt.Undefined,  # noqa: ANN401 - Undefined has no class of its own
        layer: Sequence[Any] = (),
        **kwargs: Any,  # noqa: ANN401 - those of Altair
    ) -> None:
        super(alt.LayerChart, self).__init__(data=data, layer=list(layer), **kwargs)
        first = layer[0].data if layer else alt.Undefined
        if first is not alt.Undefined and all(one.data is first for one in layer):
            self.data, self.layer = first, [_without_data(one) for one in layer]


class Panels(alt.FacetChart):
    """The same chart for each value of a column, beside one another."""

    def __init__(self, **kwargs: Any) -> None:  # noqa: ANN401 - those of Altair
        super(alt.FacetChart, self).__init__(**kwargs)


class Rows(alt.VConcatChart):
    """Charts below one another."""

    def __init__(self, **kwargs: Any) -> None:  # noqa: ANN401 - those of Altair
        super(alt.VConcatChart, self).__init__(**kwargs)


def layers(*parts: Any, **properties: Any) -> Layers:  # noqa: ANN401 - chart classes share no base
    """Lay charts on one another, the lowest first."""
    return Layers(layer=parts, **properties)


def panels(
    chart: Any,  # noqa: ANN401 - chart classes share no base
    facet: alt.Facet | alt.FacetMapping,
    **properties: Any,  # noqa: ANN401 - those of Altair
) -> Panels:
    """Draw a chart once for each value of a column, or of two in rows and columns.

    Parameters
    ----------
    chart : Chart or Layers
        With data of its own.

    Raises
    ------
    ValueError
        If it has none, as layers that draw several frames.
    """
    if chart.data is alt.Undefined:
        raise ValueError("panels need a chart that draws one frame of data")
    return Panels(data=chart.data, spec=_without_data(chart), facet=facet, **properties)


def rows(*parts: Any, **properties: Any) -> Rows:  # noqa: ANN401 - chart classes share no base
    """Put charts below one another, the highest first."""
    return Rows(vconcat=[*parts], **properties)


def axes(*, is_own: bool) -> Any:  # noqa: ANN401 - Undefined has no class of its own
    """Give the ``resolve`` of `panels`: an axis of values for each, or one for all."""
    own = alt.Resolve(scale=alt.ScaleResolveMap(y="independent"))
    return own if is_own else alt.Undefined


def _without_data(chart: Any) -> Any:  # noqa: ANN401 - chart classes share no base
    shared = chart.copy(deep=False)
    shared.data = alt.Undefined
    return shared
