"""Types of scenarios in Python, made of their schema.

``make docs`` writes this module, so a change made here is lost. `ScenarioSettings` is what
`fairwind.run` and `Scenario.from_dict` take. With it, editors complete keys and type checkers
refuse unknown ones. Numbers and units are checked when the scenario is resolved.
"""

# ruff: noqa: D205, D209, E501 - the schema's sentences are not divided

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypeAlias, TypedDict

from fairwind.units import BitRate, ByteCount, Ratio, Span

CakeIsolation: TypeAlias = "Literal['flowblind', 'srchost', 'dsthost', 'hosts', 'flows', 'dual-srchost', 'dual-dsthost', 'triple-isolate']"
"""What shares evenly in CAKE."""

CakeTins: TypeAlias = "Literal['besteffort', 'diffserv3', 'diffserv4', 'precedence']"
"""Priorities of CAKE, by code points."""

CapturePoint: TypeAlias = "Literal['sender', 'receiver']"
"""Where packets are seen."""

Collection: TypeAlias = "Literal['close', 'end']"
"""When a connection saves its values."""

Ecn: TypeAlias = "Literal['off', 'when-asked', 'classic', 'accurate']"
"""Use of explicit congestion notification by an endpoint."""

IpVersion: TypeAlias = "Literal[4, 6]"
"""The version of the Internet Protocol."""

JitterDistribution: TypeAlias = "Literal['uniform', 'normal', 'pareto', 'paretonormal', 'table']"
"""How a delay varies around its mean."""

LossDetection: TypeAlias = "Literal['rack', 'rfc6675', 'forward']"
"""Loss detection with selective acknowledgements."""

NetemText: TypeAlias = "str"
"""The arguments of netem: "tc: netem delay 50ms 5ms distribution normal loss gemodel 1% 10%".
Its delay is added to the link's."""

Placement: TypeAlias = "Literal['together', 'spread']"
"""Where in a frame a terminal's slots are."""

Profile: TypeAlias = "Literal['rfc', 'linux-2.6', 'linux-3.16', 'linux-6.18', 'linux-7.3', 'freebsd-5.4', 'freebsd-14']"
"""A named set of mechanisms and constants, the base of a TCP endpoint's settings."""

QueueLimit: TypeAlias = "str | ByteCount"
"""A queue limit is a number of packets, bytes, a time or a share of the bandwidth-delay
product: "9 packets", "64 kB", "20 ms", "1 bdp", "20 % bdp"."""

QueueText: TypeAlias = "str"
"""The name of a discipline, with default parameters ("fq_codel"), or the arguments of tc: "tc:
htb rate 5mbit burst 1520 / pfifo limit 63", or its commands, one per line."""

RecordedApplication: TypeAlias = "Literal['Anarchy Online', 'Age of Conan', 'BZFlag', 'Halo 3 (8 players)', 'Halo 3 (6 players)', 'Test Drive Unlimited', \"Tony Hawk's Project 8\", 'World in Conflict (server)', 'World in Conflict (client)', 'World of Warcraft', 'Skype (UDP)', 'Skype (TCP)', 'RDC', 'SSH text session', 'VNC (client)', 'VNC (server)', 'YouTube stream', 'HTTP download', 'FTP download']"
"""An application with recorded traffic."""

RouterKind: TypeAlias = "Literal['user', 'kernel']"
"""Who carries packets between hosts on the running kernel."""

SharedOpenings: TypeAlias = "Literal['incoming', 'all']"
"""Connections that use the memory."""

SharingPolicy: TypeAlias = "Literal['off', 'classic', 'rfc9040', 'tcp-metrics', 'careful-resume']"
"""How connections of a host share what they learned about the path."""

StartPattern: TypeAlias = "Literal['even', 'random']"
"""How the starts of a group's flows are spread."""

Transport: TypeAlias = "Literal['tcp', 'udp']"
"""What carries what an application writes."""

Trust: TypeAlias = "Literal['exact', 'safe']"
"""How far a remembered window is trusted."""

WindowReduction: TypeAlias = (
    "Literal['at-once', 'rate-halving', 'proportional', 'proportional-safe']"
)
"""Reduction of the window to the slow-start threshold after a loss."""


class CaptureSettings(TypedDict, total=False):
    """Packets to be written to capture files."""

    flows_per_group: "int"
    """Capture only this many flows of each group, the first ones; default: all."""
    groups: "Sequence[str]"
    """Names of the groups of flows to capture; default: all."""
    points: "Sequence[CapturePoint]"
    """Where packets are seen; default: at both hosts."""
    snap: "ByteCount | str"
    """Bytes kept of each packet; default: all of it."""


class CarrierSettings(TypedDict, total=False):
    """Frames of slots shared by terminals, and the master that assigns the slots (demand-
    assigned TDMA, as in DVB-RCS). Defaults are those of the Skyplex platform."""

    allocation_period: "Span | str"
    """Time from one plan of the master to its next; default: a frame."""
    frame: "Span | str"
    """How long a frame lasts; default: 273 ms."""
    frame_offset: "Span | str"
    """When the first frame begins, less than a frame; default: 0 s. With `signalling_delay`
    less whole frames, frames begin when plans come."""
    name: "str"
    """Name for the links of a topology; a path has only one carrier."""
    placement: "Placement"
    """Whether a terminal's slots of a frame follow one another or are spread over it. Default:
    "together"."""
    request_lifetime: "Span | str"
    """How long a requested rate holds unless it is requested again; default: two request
    periods."""
    request_period: "Span | str"
    """Time from one request of a terminal to its next; default: four frames."""
    signalling_delay: "Span | str"
    """Time that a request takes to the master, and a plan back; default: half the path's RTT,
    or the link's delay."""
    slot_rate: "BitRate | str"
    """Rate that one slot of every frame carries; default: 44 kbit/s."""
    slots: "int"
    """Slots of a frame; default: 48."""


class ChanceSettings(TypedDict, total=False):
    """Something that happens to a share of the packets."""

    probability: Required["Ratio | str"]
    """Probability for each packet."""
    correlation: "Ratio | str"
    """Correlation of each draw with the previous one. Default: "0 ppb"."""


NamedCongestionSettings: TypeAlias = "Mapping[str, int | float | bool | str]"
"""One with parameters: `{ name = "mine", beta = 0.7 }`. They are the keyword arguments of a
class of Python, or what a C file declares by `FAIRWIND_PARAM`."""

CongestionSettings: TypeAlias = "Literal['reno', 'bic', 'cubic', 'bbr', 'bbr3', 'bic-c', 'cubic-c', 'dctcp', 'fast', 'highspeed', 'htcp', 'hybla', 'illinois', 'ledbat', 'reno-c', 'scalable', 'vegas', 'westwood'] | str | NamedCongestionSettings"
"""A congestion control."""


class DelayStepSettings(TypedDict, total=False):
    """A delay for some time. After the last step the first begins again. Packets do not
    overtake others when the delay falls."""

    delay: Required["Span | str"]
    """Delay of packets sent during this step, beyond the link's own."""
    duration: Required["Span | str"]
    """How long it lasts."""
    outage: "bool"
    """Whether all packets sent during this step are lost, as in a satellite handover."""


class UniformByteDistributionSettings(TypedDict, total=False):
    """Every value between two bounds is equally likely."""

    distribution: Required["Literal['uniform']"]
    max: Required["ByteCount | str"]
    """Largest value that is drawn."""
    min: Required["ByteCount | str"]
    """Smallest value that is drawn."""


class NormalByteDistributionSettings(TypedDict, total=False):
    """The normal distribution; negative draws become zero."""

    deviation: Required["ByteCount | str"]
    """Standard deviation."""
    distribution: Required["Literal['normal']"]
    mean: Required["ByteCount | str"]
    """Mean."""


class ExponentialByteDistributionSettings(TypedDict, total=False):
    """The exponential distribution."""

    distribution: Required["Literal['exponential']"]
    mean: Required["ByteCount | str"]
    """Mean."""


class ParetoByteDistributionSettings(TypedDict, total=False):
    """The Pareto distribution: a share `(min / x) ^ shape` of all draws is larger than `x`. No
    draw is larger than 2^50, which is a pebibyte or 13 days."""

    distribution: Required["Literal['pareto']"]
    min: Required["ByteCount | str"]
    """Smallest value that is drawn."""
    shape: Required["float"]
    """How heavy the tail is: the smaller, the heavier. The mean is `min * shape / (shape - 1)`;
    with 1 or less it is infinite."""


class BoundedParetoByteDistributionSettings(TypedDict, total=False):
    """A Pareto distribution of which only the part between two bounds is drawn."""

    distribution: Required["Literal['bounded-pareto']"]
    max: Required["ByteCount | str"]
    """Largest value that is drawn."""
    min: Required["ByteCount | str"]
    """Smallest value that is drawn."""
    shape: Required["float"]
    """How heavy the tail is: the smaller, the heavier."""


class LognormalByteDistributionSettings(TypedDict, total=False):
    """The lognormal distribution; values outside the bounds are drawn again."""

    deviation: Required["ByteCount | str"]
    """Standard deviation, without bounds."""
    distribution: Required["Literal['lognormal']"]
    mean: Required["ByteCount | str"]
    """Mean, without bounds."""
    max: "ByteCount | str"
    """Largest value that is drawn; default: no bound."""
    min: "ByteCount | str"
    """Smallest value that is drawn; default: no bound."""


class EmpiricalByteDistributionSettings(TypedDict, total=False):
    """A distribution known by its quantiles: a measured one, for example."""

    distribution: Required["Literal['empirical']"]
    quantiles: Required["Sequence[ByteQuantileSettings]"]
    """The quantiles, from the smallest value (`0 %`) to the largest (`100 %`). Without a mean
    every value between two neighbours is equally likely."""
    mean: "ByteCount | str"
    """The mean, which determines the distribution between the quantiles."""


ByteDistributionSettings: TypeAlias = "UniformByteDistributionSettings | NormalByteDistributionSettings | ExponentialByteDistributionSettings | ParetoByteDistributionSettings | BoundedParetoByteDistributionSettings | LognormalByteDistributionSettings | EmpiricalByteDistributionSettings"
"""A distribution that quantities are drawn from."""


class UniformSpanDistributionSettings(TypedDict, total=False):
    """Every value between two bounds is equally likely."""

    distribution: Required["Literal['uniform']"]
    max: Required["Span | str"]
    """Largest value that is drawn."""
    min: Required["Span | str"]
    """Smallest value that is drawn."""


class NormalSpanDistributionSettings(TypedDict, total=False):
    """The normal distribution; negative draws become zero."""

    deviation: Required["Span | str"]
    """Standard deviation."""
    distribution: Required["Literal['normal']"]
    mean: Required["Span | str"]
    """Mean."""


class ExponentialSpanDistributionSettings(TypedDict, total=False):
    """The exponential distribution."""

    distribution: Required["Literal['exponential']"]
    mean: Required["Span | str"]
    """Mean."""


class ParetoSpanDistributionSettings(TypedDict, total=False):
    """The Pareto distribution: a share `(min / x) ^ shape` of all draws is larger than `x`. No
    draw is larger than 2^50, which is a pebibyte or 13 days."""

    distribution: Required["Literal['pareto']"]
    min: Required["Span | str"]
    """Smallest value that is drawn."""
    shape: Required["float"]
    """How heavy the tail is: the smaller, the heavier. The mean is `min * shape / (shape - 1)`;
    with 1 or less it is infinite."""


class BoundedParetoSpanDistributionSettings(TypedDict, total=False):
    """A Pareto distribution of which only the part between two bounds is drawn."""

    distribution: Required["Literal['bounded-pareto']"]
    max: Required["Span | str"]
    """Largest value that is drawn."""
    min: Required["Span | str"]
    """Smallest value that is drawn."""
    shape: Required["float"]
    """How heavy the tail is: the smaller, the heavier."""


class LognormalSpanDistributionSettings(TypedDict, total=False):
    """The lognormal distribution; values outside the bounds are drawn again."""

    deviation: Required["Span | str"]
    """Standard deviation, without bounds."""
    distribution: Required["Literal['lognormal']"]
    mean: Required["Span | str"]
    """Mean, without bounds."""
    max: "Span | str"
    """Largest value that is drawn; default: no bound."""
    min: "Span | str"
    """Smallest value that is drawn; default: no bound."""


class EmpiricalSpanDistributionSettings(TypedDict, total=False):
    """A distribution known by its quantiles: a measured one, for example."""

    distribution: Required["Literal['empirical']"]
    quantiles: Required["Sequence[SpanQuantileSettings]"]
    """The quantiles, from the smallest value (`0 %`) to the largest (`100 %`). Without a mean
    every value between two neighbours is equally likely."""
    mean: "Span | str"
    """The mean, which determines the distribution between the quantiles."""


SpanDistributionSettings: TypeAlias = "UniformSpanDistributionSettings | NormalSpanDistributionSettings | ExponentialSpanDistributionSettings | ParetoSpanDistributionSettings | BoundedParetoSpanDistributionSettings | LognormalSpanDistributionSettings | EmpiricalSpanDistributionSettings"
"""A distribution that quantities are drawn from."""


class UniformCountDistributionSettings(TypedDict, total=False):
    """Every value between two bounds is equally likely."""

    distribution: Required["Literal['uniform']"]
    max: Required["int"]
    """Largest value that is drawn."""
    min: Required["int"]
    """Smallest value that is drawn."""


class NormalCountDistributionSettings(TypedDict, total=False):
    """The normal distribution; negative draws become zero."""

    deviation: Required["int"]
    """Standard deviation."""
    distribution: Required["Literal['normal']"]
    mean: Required["int"]
    """Mean."""


class ExponentialCountDistributionSettings(TypedDict, total=False):
    """The exponential distribution."""

    distribution: Required["Literal['exponential']"]
    mean: Required["int"]
    """Mean."""


class ParetoCountDistributionSettings(TypedDict, total=False):
    """The Pareto distribution: a share `(min / x) ^ shape` of all draws is larger than `x`. No
    draw is larger than 2^50, which is a pebibyte or 13 days."""

    distribution: Required["Literal['pareto']"]
    min: Required["int"]
    """Smallest value that is drawn."""
    shape: Required["float"]
    """How heavy the tail is: the smaller, the heavier. The mean is `min * shape / (shape - 1)`;
    with 1 or less it is infinite."""


class BoundedParetoCountDistributionSettings(TypedDict, total=False):
    """A Pareto distribution of which only the part between two bounds is drawn."""

    distribution: Required["Literal['bounded-pareto']"]
    max: Required["int"]
    """Largest value that is drawn."""
    min: Required["int"]
    """Smallest value that is drawn."""
    shape: Required["float"]
    """How heavy the tail is: the smaller, the heavier."""


class LognormalCountDistributionSettings(TypedDict, total=False):
    """The lognormal distribution; values outside the bounds are drawn again."""

    deviation: Required["int"]
    """Standard deviation, without bounds."""
    distribution: Required["Literal['lognormal']"]
    mean: Required["int"]
    """Mean, without bounds."""
    max: "int"
    """Largest value that is drawn; default: no bound."""
    min: "int"
    """Smallest value that is drawn; default: no bound."""


class EmpiricalCountDistributionSettings(TypedDict, total=False):
    """A distribution known by its quantiles: a measured one, for example."""

    distribution: Required["Literal['empirical']"]
    quantiles: Required["Sequence[CountQuantileSettings]"]
    """The quantiles, from the smallest value (`0 %`) to the largest (`100 %`). Without a mean
    every value between two neighbours is equally likely."""
    mean: "int"
    """The mean, which determines the distribution between the quantiles."""


CountDistributionSettings: TypeAlias = "UniformCountDistributionSettings | NormalCountDistributionSettings | ExponentialCountDistributionSettings | ParetoCountDistributionSettings | BoundedParetoCountDistributionSettings | LognormalCountDistributionSettings | EmpiricalCountDistributionSettings"
"""A distribution that quantities are drawn from."""


class DrrClassSettings(TypedDict, total=False):
    """A class of `drr`."""

    child: "QueueValue"
    """Discipline that holds its packets; default: a pfifo of 1000 packets."""
    filters: "Sequence[FilterSettings]"
    """Filters: the class takes packets that match any of them; without filters, packets that no
    other class takes. Default: []."""
    quantum: "ByteCount | str"
    """Bytes that it may send in its turn; default: 1514 B."""


class FilterSettings(TypedDict, total=False):
    """A filter: a packet matches if it matches all keys that are set."""

    destination_port: "int"
    """To this port."""
    dscp: "int"
    """With this code point (RFC 2474), 0 to 63."""
    group: "str"
    """Of a flow of this group, in either direction."""
    protocol: "int"
    """Of this protocol, by its number: 6 is TCP, 17 is UDP."""
    source_port: "int"
    """From this port."""


_FlowsSettings = TypedDict("_FlowsSettings", {"from": "str"}, total=False)


class FlowsSettings(_FlowsSettings, total=False):
    """A group of flows that are alike. `from`: Host that opens the connections and sends the
    data or the requests; only with a topology."""

    name: Required["str"]
    """Name of the group: letters, digits, `-` and `_`."""
    workload: Required["WorkloadSettings"]
    """What the applications write."""
    count: "int"
    """Number of flows. Default: 1."""
    receiver_tcp: "TcpSettings"
    """TCP of the hosts that accept the connections; default: the profile of `tcp`, its
    congestion control if that needs ECN marks (dctcp), and all of its settings if data goes
    both ways."""
    rtt: "Span | str"
    """RTT of the group without queues; at least that of the path, delays of impairments
    included. Only with a path."""
    start: "Span | str"
    """When the first flow starts. Default: "0 ns"."""
    start_pattern: "StartPattern"
    """Distribution of the starts. Default: "even"."""
    start_spread: "Span | str"
    """Time that the starts of the flows are spread over. Default: "0 ns"."""
    stop: "Span | str"
    """When the applications stop writing; default: at the end of the experiment."""
    tcp: "TcpSettings"
    """TCP of the hosts that open the connections."""
    to: "str"
    """Host that receives the data or sends the responses; only with a topology."""


class HtbClassSettings(TypedDict, total=False):
    """A class of `htb`."""

    rate: Required["BitRate | str"]
    """Guaranteed rate."""
    burst: "ByteCount | str"
    """Bytes that may be sent at once at `ceil` above the rate; default: 1600 B."""
    cburst: "ByteCount | str"
    """Bytes that may be sent at once as fast as the link goes; default: 1600 B."""
    ceil: "BitRate | str"
    """Largest rate, with borrowing; default: `rate`."""
    child: "QueueValue"
    """Discipline that holds its packets, if it has no classes below; default: a pfifo of 1000
    packets."""
    filters: "Sequence[FilterSettings]"
    """Filters: the class takes packets that match any of them. Default: []."""
    name: "str"
    """Name, as `1:10` in `tc`; default: `1:` and its number from 1 in the list."""
    parent: "str"
    """Name of the class that it borrows from; default: directly below the discipline."""
    prio: "int"
    """Priority: classes with a lower number are offered spare rate first; default: 0."""
    quantum: "ByteCount | str"
    """Bytes that it may send in its turn; default: from its rate."""


class ImpairmentsSettings(TypedDict, total=False):
    """Impairments of a link, after its queue and its transmitter: one key for each kind."""

    corrupt: "ChanceSettings"
    """Packets that arrive with a wrong bit."""
    delay: "Span | str"
    """Delay beyond the link's own, which packets that overtake do not wait for."""
    delay_steps: "Sequence[DelayStepSettings]"
    """Delay beyond the link's own that changes with time, as with moving satellites: steps that
    repeat after the last one."""
    duplicate: "ChanceSettings"
    """Packets that arrive twice."""
    jitter: "JitterSettings"
    """Delay that varies around the link's own."""
    loss: "LossSettings"
    """Which packets are lost."""
    reorder: "ReorderSettings"
    """Packets that skip the delay given here, and so overtake others."""
    slot: "SlotSettings"
    """Periods without deliveries; at the end of each, all packets that waited are delivered at
    once."""


ImpairmentsValue: TypeAlias = "NetemText | ImpairmentsSettings"
"""Impairments of a link: a table, or the arguments of netem."""


class JitterSettings(TypedDict, total=False):
    """Delay that varies."""

    deviation: Required["Span | str"]
    """Half of the width for `uniform`, else the standard deviation."""
    correlation: "Ratio | str"
    """Correlation of each draw with the previous one. Default: "0 ppb"."""
    distribution: "JitterDistribution"
    """Distribution; default: `uniform`, or `table` if a table is given."""
    file: "str"
    """Instead of the table: name of a file with one as netem's are written (`.dist`), relative
    to the scenario's folder: numbers separated by blanks, and comments from `#` to the end of
    the line."""
    keep_order: "bool"
    """Whether packets leave in order, later ones waiting for earlier ones. Default: false."""
    table: "Sequence[int]"
    """Quantiles at equal distances, in deviations from the mean times 8192, as in netem's
    tables."""


_LinkSettings = TypedDict("_LinkSettings", {"from": Required["str"]}, total=False)


class LinkSettings(_LinkSettings, total=False):
    """A link between two nodes. `from`: Node that the link leads from."""

    to: Required["str"]
    """Node that the link leads to."""
    both_ways: "bool"
    """Whether there is a link back, with the same properties. Default: true."""
    carrier: "str"
    """Instead of the rate: name of the carrier that it has slots of."""
    delay: "Span | str"
    """Propagation delay. Default: "0 ns"."""
    impairments: "ImpairmentsValue"
    """Further impairments of the link."""
    loss: "Ratio | str"
    """Share of packets lost at random. Default: "0 ppb"."""
    name: "str"
    """Name of the link; default: `FROM->TO`. The link back is `NAME-reverse`, or `TO->FROM`."""
    overhead: "ByteCount | str"
    """Overhead of every packet beyond the IP packet (framing). Default: "0 B"."""
    queue: "QueueValue"
    """Queue before the link; default: a pfifo of 1000 packets."""
    rate: "BitRate | str"
    """Rate; default: the mean of `rate_trace`, or unlimited."""
    rate_trace: "RateTraceSettings"
    """When packets may leave, as recorded, instead of at the rate all the time: `{ file = "..."
    }`, or in the scenario."""
    terminal: "TerminalSettings"
    """Its share of the carrier, and how it requests slots."""


class RandomLossSettings(TypedDict, total=False):
    """Independent losses, or losses correlated with the previous draw."""

    model: Required["Literal['random']"]
    probability: Required["Ratio | str"]
    """How many packets are lost."""
    correlation: "Ratio | str"
    """Correlation of each draw with the previous one. Default: "0 ppb"."""


class GemodelLossSettings(TypedDict, total=False):
    """Two states with different loss probabilities (Gilbert and Elliott); the probabilities are
    those of netem's `gemodel`."""

    bad_loss: Required["Ratio | str"]
    """Loss in the bad state (netem's `1-h`)."""
    good_loss: Required["Ratio | str"]
    """Loss in the good state (netem's `1-k`)."""
    model: Required["Literal['gemodel']"]
    p: Required["Ratio | str"]
    """From the good state to the bad one, per packet."""
    r: Required["Ratio | str"]
    """From the bad state to the good one, per packet."""


class RecordedLossSettings(TypedDict, total=False):
    """A recorded sequence of losses; it repeats at its end."""

    model: Required["Literal['recorded']"]
    file: "str"
    """Instead of that: name of a file with a 1 for each packet that is lost and a 0 for each
    that is not, relative to the scenario's folder; blanks, line breaks and comments from `#` on
    are ignored."""
    lost: "Sequence[bool]"
    """One for each packet: `true` for one that is lost."""


class PacketsLossSettings(TypedDict, total=False):
    """Some packets by their numbers, each once. Copies that `duplicate` makes are counted as
    well, and of a packet and its copy only one is lost."""

    model: Required["Literal['packets']"]
    numbers: Required["Sequence[int]"]
    """In the order in which packets leave the link, from 1, rising."""


LossSettings: TypeAlias = (
    "RandomLossSettings | GemodelLossSettings | RecordedLossSettings | PacketsLossSettings"
)
"""Which packets are lost."""


class MeasureSettings(TypedDict, total=False):
    """What is measured."""

    endpoint_every_ack: "bool"
    """Whether a data sender's state is also sampled at every segment that reaches it while the
    connection is established: the state that an acknowledgement finds, before it changes
    anything."""
    endpoint_interval: "Span | str"
    """Sampling interval of the endpoints' state (congestion window, smoothed RTT, ...);
    default: not sampled."""
    intervals: "Sequence[Span | str]"
    """Lengths of the windows that series are given in. Default: ["30 s"]."""
    per_flow_intervals: "bool"
    """Series for every flow, in addition to those for every group. Default: false."""
    percentiles: "Sequence[float]"
    """Percentiles that the table `latencies` has, from 0 to 100. Default: [1.0, 25.0, 50.0,
    75.0, 90.0, 95.0, 99.0, 99.9]."""
    queue_events: "QueueEventsSettings"
    """Queue events to log packet by packet in the table `queue_events`; default: none."""
    queue_interval: "Span | str"
    """Length of the windows in the table `queue_intervals`; default: a hundredth of the
    measured time."""
    warmup: "Span | str"
    """Time at the beginning that is not measured. Default: "0 ns"."""


class PathSettings(TypedDict, total=False):
    """A dumbbell: all senders on the left, all receivers on the right, one bottleneck between
    them."""

    access_rate: "BitRate | str"
    """Rate of every host's own link; default: unlimited."""
    carrier: "CarrierSettings"
    """Instead of the rate: slots that are assigned on demand, in frames of this carrier; `{}`
    for those of Skyplex. Limits and tables are computed from the highest rate that the terminal
    may have."""
    forward_delay: "Span | str"
    """Instead of the RTT: delay from sender to receiver."""
    impairments: "ImpairmentsValue"
    """Further impairments behind the bottleneck: jitter, bursts of losses, duplicates, damage,
    reordering, slots."""
    ip_version: "IpVersion"
    """Version of the Internet Protocol, 4 or 6. Default: 4."""
    loss: "Ratio | str"
    """Share of packets lost at random behind the bottleneck. Default: "0 ppb"."""
    mtu: "ByteCount | str"
    """Largest IP packet. Default: "1.5 kB"."""
    overhead: "ByteCount | str"
    """Overhead of every packet on the bottleneck beyond the IP packet (framing). Default: "0
    B"."""
    queue: "QueueValue"
    """Queue before the bottleneck; default: a pfifo of one bandwidth-delay product. The product
    is that of the path's rate and RTT, delays of impairments included, without any group's own
    RTT; in packets of the MTU it is rounded up."""
    rate: "BitRate | str"
    """Rate of the bottleneck; default: the mean of `rate_trace`. It is optional with a queue
    that shapes (`tbf`, `htb`, `cake` with `bandwidth`)."""
    rate_trace: "RateTraceSettings"
    """When packets may leave the bottleneck, as recorded, instead of at its rate all the time:
    `{ file = "..." }`, or in the scenario. Limits and tables are computed from `rate`; default:
    the mean of the trace."""
    reverse_delay: "Span | str"
    """Instead of the RTT: delay from receiver to sender."""
    reverse_impairments: "ImpairmentsValue"
    """Further impairments in the direction of the acknowledgements."""
    reverse_loss: "Ratio | str"
    """Share of packets lost at random in the direction of the acknowledgements. Default: "0
    ppb"."""
    reverse_queue: "QueueValue"
    """Queue in the direction of the acknowledgements; default: a pfifo of 1000 packets."""
    reverse_rate: "BitRate | str"
    """Rate in the direction of the acknowledgements; default: the bottleneck's."""
    router: "RouterKind"
    """Router of the packets when the experiment runs on the kernel; the simulator ignores it.
    Default: "user"."""
    rtt: "Span | str"
    """Round-trip time without queues, half of it in each direction. Delays of impairments are
    added."""
    terminal: "TerminalSettings"
    """Share of the carrier for the left end of the bottleneck, and how it requests slots."""


class PrioFilterSettings(TypedDict, total=False):
    """A filter to a band of `prio`: packets that match all keys that are set."""

    band: Required["int"]
    """The band, from 0."""
    match: Required["FilterSettings"]
    """Packets that it matches."""


class ByteQuantileSettings(TypedDict, total=False):
    """What a share of all draws does not exceed."""

    share: Required["Ratio | str"]
    """The share: `50 %` for the median."""
    value: Required["ByteCount | str"]
    """The value."""


class SpanQuantileSettings(TypedDict, total=False):
    """What a share of all draws does not exceed."""

    share: Required["Ratio | str"]
    """The share: `50 %` for the median."""
    value: Required["Span | str"]
    """The value."""


class CountQuantileSettings(TypedDict, total=False):
    """What a share of all draws does not exceed."""

    share: Required["Ratio | str"]
    """The share: `50 %` for the median."""
    value: Required["int"]
    """The value."""


_QueueEventsSettings = TypedDict("_QueueEventsSettings", {"from": "Span | str"}, total=False)


class QueueEventsSettings(_QueueEventsSettings, total=False):
    """Queue events to log packet by packet. `from`: Beginning of the log, since the experiment
    began, warm-up included."""

    most: "int"
    """Largest number of events to log, from the first one on. Default: all; on the kernel a
    million, because events stay in memory until the run is over."""
    queues: "Sequence[str]"
    """Names of the links with logged queues; default: all."""
    until: "Span | str"
    """End of the log; default: the end of the experiment."""


QueueValue: TypeAlias = "QueueText | QueueSettings"
"""A queue: which packets wait, which leave next, and which are dropped or marked. Either the
name of a discipline, with default parameters, or a table."""


class PfifoQueueSettings(TypedDict, total=False):
    """First in, first out; an arrival is dropped when `limit` packets wait."""

    discipline: "Literal['pfifo']"
    limit: "QueueLimit"
    """Limit of the queue, in packets; default: 1000 packets."""


class BfifoQueueSettings(TypedDict, total=False):
    """First in, first out; an arrival is dropped when it would not fit in `limit` bytes."""

    discipline: Required["Literal['bfifo']"]
    limit: "QueueLimit"
    """Limit of the queue, in bytes; default: 1 514 000 B."""


class RedQueueSettings(TypedDict, total=False):
    """Random early detection (Floyd and Jacobson, 1993)."""

    discipline: Required["Literal['red']"]
    limit: Required["QueueLimit"]
    """Limit of the queue, in bytes."""
    adaptive: "bool"
    """Whether the probability is adapted so that the average stays in the middle; default:
    false."""
    avpkt: "ByteCount | str"
    """Size of a typical packet; default: 1000 B."""
    bandwidth: "BitRate | str"
    """Rate for the average's decay while nothing is sent; default: the link's."""
    burst: "int"
    """Packets that may arrive at once, which determines how slowly the average follows;
    default: `(2 min + max) / (3 avpkt)`."""
    child: "QueueValue"
    """Discipline that holds the packets; default: a bfifo of `limit`."""
    ecn: "bool"
    """Whether packets that can be marked are marked instead of dropped; default: false."""
    gentle: "bool"
    """Whether the probability rises to one between `max` and twice that, instead of at once,
    which the kernel does not know; default: false."""
    harddrop: "bool"
    """Whether packets above `max` are dropped even where they could be marked; default: false."""
    max: "QueueLimit"
    """Average backlog at which the probability is largest; default: thrice `min`, or else a
    quarter of the limit."""
    min: "QueueLimit"
    """Average backlog above which packets are dropped or marked; default: a third of `max`."""
    probability: "Ratio | str"
    """Probability at `max`; default: 2 %."""


class ChokeQueueSettings(TypedDict, total=False):
    """Random early detection that singles out flows which do not respond (Pan, Prabhakar and
    Psounis, 2000)."""

    discipline: Required["Literal['choke']"]
    limit: Required["QueueLimit"]
    """Limit of the queue, in packets."""
    avpkt: "ByteCount | str"
    """Size of a typical packet; default: 1000 B."""
    bandwidth: "BitRate | str"
    """Rate for the average's decay while nothing is sent; default: the link's."""
    burst: "int"
    """Packets that may arrive at once, which determines how slowly the average follows;
    default: `(2 min + max) / 3`."""
    ecn: "bool"
    """Whether packets that can be marked are marked instead of dropped; default: false."""
    max: "QueueLimit"
    """Average backlog above which every arrival is dropped; default: a quarter of the limit."""
    min: "QueueLimit"
    """Average backlog above which an arrival is compared with a waiting packet; default: a
    third of `max`."""
    probability: "Ratio | str"
    """Probability at `max`; default: 2 %."""


class CodelQueueSettings(TypedDict, total=False):
    """Controlled delay (RFC 8289)."""

    discipline: Required["Literal['codel']"]
    ce_threshold: "Span | str"
    """Waiting time above which every packet that can be marked is marked; default: none."""
    ecn: "bool"
    """Whether packets that can be marked are marked instead of dropped; default: false."""
    interval: "Span | str"
    """Time for which the target may be exceeded, about the longest round trip; default: 100 ms."""
    limit: "QueueLimit"
    """Limit of the queue, in packets; default: 1000 packets."""
    target: "Span | str"
    """Waiting time that is tolerated permanently; default: 5 ms."""


class PieQueueSettings(TypedDict, total=False):
    """Proportional integral controller, enhanced (RFC 8033)."""

    discipline: Required["Literal['pie']"]
    alpha: "int"
    """Weight of the distance from the target, in sixteenths per second; default: 2."""
    beta: "int"
    """Weight of the change since the last update, in sixteenths per second; default: 20."""
    bytemode: "bool"
    """Whether the probability is scaled with the size of the packet; default: false."""
    dq_rate_estimator: "bool"
    """Whether the waiting time is estimated from the departure rate instead of from time
    stamps; default: false."""
    ecn: "bool"
    """Whether packets that can be marked are marked instead of dropped, while that happens to
    less than a tenth; default: false."""
    limit: "QueueLimit"
    """Limit of the queue, in packets; default: 1000 packets."""
    target: "Span | str"
    """Target of the waiting time; default: 15 ms."""
    tupdate: "Span | str"
    """Update interval of the probability; default: 15 ms."""


class Dualpi2QueueSettings(TypedDict, total=False):
    """Two coupled queues, one for scalable congestion controls, one for all others (RFC 9332)."""

    discipline: Required["Literal['dualpi2']"]
    alpha: "Ratio | str"
    """Weight of the distance from the target, per second; default: 16 %."""
    beta: "Ratio | str"
    """Weight of the change since the last update, per second; default: 320 %."""
    classic_protection: "Ratio | str"
    """Guaranteed share of the service for the classic queue; default: 10 %."""
    coupling_factor: "int"
    """The base probability times this marks packets of the low-latency queue; default: 2."""
    drop_dequeue: "bool"
    """Whether packets are dropped when they leave instead of when they come; default: true."""
    drop_on_overload: "bool"
    """Whether packets that could be marked are dropped when overloaded; default: true."""
    l4s_ect: "bool"
    """Whether only packets with ECT(1) or CE belong into the low-latency queue, else all that
    can be marked; default: true."""
    limit: "QueueLimit"
    """Limit of both queues together, in packets; default: 10 000 packets."""
    step_thresh: "Span | str"
    """Waiting time from which on every packet of the low-latency queue is marked; default: 1
    ms."""
    target: "Span | str"
    """Target of the classic queue's waiting time; default: 15 ms."""
    tupdate: "Span | str"
    """Update interval of the probability; default: 16 ms."""


class SfqQueueSettings(TypedDict, total=False):
    """Stochastic fairness queueing (McKenney, 1990)."""

    discipline: Required["Literal['sfq']"]
    depth: "int"
    """Packets of one flow that may wait; default: 127."""
    divisor: "int"
    """Buckets that flows are hashed into, a power of two; default: 1024."""
    flows: "int"
    """Flows that may wait at the same time; default: 127."""
    headdrop: "bool"
    """Whether the oldest packet of a flow is dropped instead of the newest; default: false."""
    limit: "QueueLimit"
    """Limit of the queue, in packets; default: 127 packets."""
    perturb: "Span | str"
    """Time after which flows are hashed again; default: never."""
    quantum: "ByteCount | str"
    """Bytes that a flow may send in its turn; default: 1514 B."""


class FqCodelQueueSettings(TypedDict, total=False):
    """Fair queueing with controlled delay (RFC 8290)."""

    discipline: Required["Literal['fq_codel']"]
    ce_threshold: "Span | str"
    """Waiting time above which every packet that can be marked is marked; default: none."""
    drop_batch: "int"
    """Packets of the longest queue that are dropped at once when the queue is full; default:
    64."""
    ecn: "bool"
    """Whether packets that can be marked are marked instead of dropped; default: true."""
    flows: "int"
    """Buckets that flows are hashed into; default: 1024."""
    interval: "Span | str"
    """Time for which the target may be exceeded, about the longest round trip; default: 100 ms."""
    limit: "QueueLimit"
    """Limit of the queue, in packets; default: 10 240 packets."""
    memory_limit: "ByteCount | str"
    """Bytes that may wait; default: 32 MiB."""
    quantum: "ByteCount | str"
    """Bytes that a flow may send in its turn; default: 1514 B."""
    target: "Span | str"
    """Waiting time that is tolerated permanently; default: 5 ms."""


class FqPieQueueSettings(TypedDict, total=False):
    """Fair queueing with PIE for every flow."""

    discipline: Required["Literal['fq_pie']"]
    alpha: "int"
    """Weight of the distance from the target, in sixteenths per second; default: 2."""
    beta: "int"
    """Weight of the change since the last update, in sixteenths per second; default: 20."""
    bytemode: "bool"
    """Whether the probability is scaled with the size of the packet; default: false."""
    dq_rate_estimator: "bool"
    """Whether the waiting time is estimated from the departure rate instead of from time
    stamps; default: false."""
    ecn: "bool"
    """Whether packets that can be marked are marked instead of dropped; default: false."""
    ecn_prob: "int"
    """Per cent of probability up to which packets are marked instead of dropped; default: 10."""
    flows: "int"
    """Buckets that flows are hashed into; default: 1024."""
    limit: "QueueLimit"
    """Limit of the queue, in packets; default: 10 240 packets."""
    memory_limit: "ByteCount | str"
    """Bytes that may wait; default: 32 MiB."""
    quantum: "ByteCount | str"
    """Bytes that a flow may send in its turn; default: 1514 B."""
    target: "Span | str"
    """Target of the waiting time; default: 15 ms."""
    tupdate: "Span | str"
    """Update interval of the probability; default: 15 ms."""


class CakeQueueSettings(TypedDict, total=False):
    """Common applications kept enhanced: shaper, isolation of flows and hosts, COBALT."""

    discipline: Required["Literal['cake']"]
    bandwidth: "BitRate | str"
    """Rate that it shapes to; default: as fast as the link goes."""
    isolation: "CakeIsolation"
    """Units of fair sharing; default: `triple-isolate`."""
    memlimit: "ByteCount | str"
    """Bytes that may wait; default: from rate and round trip."""
    overhead: "ByteCount | str"
    """Overhead of every packet beyond the IP packet, for the shaper; default: none."""
    rtt: "Span | str"
    """A typical round trip, from which interval and target follow; default: 100 ms."""
    tins: "CakeTins"
    """Priorities that packets are sorted into by their code points; default: `diffserv3`."""


class DrrQueueSettings(TypedDict, total=False):
    """Deficit round robin over classes (Shreedhar and Varghese, 1996). Packets that no class
    takes are dropped, as in the kernel."""

    classes: Required["Sequence[DrrClassSettings]"]
    """The classes; a packet goes to the first one with a matching filter."""
    discipline: Required["Literal['drr']"]


class PrioQueueSettings(TypedDict, total=False):
    """Bands with strict priority: a band is served only while all before it are empty."""

    discipline: Required["Literal['prio']"]
    bands: "Sequence[QueueValue]"
    """Disciplines that hold the packets of the 2 to 16 bands, the most urgent first; default:
    three pfifos of 1000 packets."""
    filters: "Sequence[PrioFilterSettings]"
    """Filters that send packets to a band whatever their priority; the first match decides.
    Default: []."""
    priomap: "Sequence[int]"
    """The band, from 0, of each of the 16 priorities that the kernel makes of a packet's type
    of service; default: `[1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]`, with 1 for 2 where
    there are two bands."""


class TbfQueueSettings(TypedDict, total=False):
    """Token bucket filter: shapes to a rate, with bursts."""

    burst: Required["ByteCount | str"]
    """Bytes that may leave at once after a pause."""
    discipline: Required["Literal['tbf']"]
    rate: Required["BitRate | str"]
    """Rate that it shapes to."""
    child: "QueueValue"
    """Discipline that holds the packets; default: a bfifo of `limit`."""
    granularity: "Span | str"
    """Resolution of the clock, as with a kernel of that timer frequency; default: exact timers."""
    latency: "Span | str"
    """Instead of the limit: longest waiting time, from which `tc` computes the limit."""
    limit: "QueueLimit"
    """Limit of the queue, in bytes."""
    mtu: "ByteCount | str"
    """Bytes that may leave at once at `peakrate`; default: 1500 B."""
    peakrate: "BitRate | str"
    """Peak rate, also for bursts; default: none."""


class HtbQueueSettings(TypedDict, total=False):
    """Hierarchy token bucket: each class has a rate and borrows up to its ceiling. With `rate`
    it has one class for all packets, with `classes` several."""

    discipline: Required["Literal['htb']"]
    burst: "ByteCount | str"
    """With `rate`: bytes that may leave at once at `ceil` after a pause; default: 1600 B."""
    cburst: "ByteCount | str"
    """With `rate`: bytes that may leave at once as fast as the link goes; default: 1600 B."""
    child: "QueueValue"
    """With `rate`: discipline that holds the packets; default: a pfifo of 1000 packets."""
    classes: "Sequence[HtbClassSettings]"
    """The tree, parents before their children."""
    default: "str"
    """Name of the class of packets that no filter takes; default: they pass unshaped."""
    direct_qlen: "int"
    """Largest number of waiting packets that pass unshaped; default: 1000."""
    granularity: "Span | str"
    """Resolution of the clock, as with a kernel of that timer frequency; default: exact timers."""
    r2q: "int"
    """Divisor: a class without a quantum may send its rate in bytes per second divided by this
    in its turn; default: 10."""
    rate: "BitRate | str"
    """Instead of classes: rate that all packets are shaped to."""


QueueSettings: TypeAlias = "PfifoQueueSettings | BfifoQueueSettings | RedQueueSettings | ChokeQueueSettings | CodelQueueSettings | PieQueueSettings | Dualpi2QueueSettings | SfqQueueSettings | FqCodelQueueSettings | FqPieQueueSettings | CakeQueueSettings | DrrQueueSettings | PrioQueueSettings | TbfQueueSettings | HtbQueueSettings"
"""A discipline and its parameters; default: `pfifo`."""


class RateStepSettings(TypedDict, total=False):
    """A rate for some time."""

    duration: Required["Span | str"]
    """How long it lasts."""
    rate: Required["BitRate | str"]
    """Rate during this step; may be 0."""


class FileRateTraceSettings(TypedDict, total=False):
    """Read from a file; `form` may then be left out."""

    file: Required["str"]
    """Name of a file in Mahimahi's packet-delivery format, relative to the scenario's folder: a
    whole number of milliseconds on each line, at which 1500 bytes may leave."""
    form: "Literal['file']"


class OpportunitiesRateTraceSettings(TypedDict, total=False):
    """Instants at each of which 1500 bytes may leave, as Mahimahi records them (packet-delivery
    trace). Several small packets share one, a larger packet needs several, and unused ones are
    lost."""

    form: Required["Literal['opportunities']"]
    milliseconds: Required["Sequence[int]"]
    """Milliseconds from the beginning, never decreasing, the last above zero; the last is the
    length of the trace."""


class StepsRateTraceSettings(TypedDict, total=False):
    """Rates, each for some time."""

    form: Required["Literal['steps']"]
    steps: Required["Sequence[RateStepSettings]"]
    """In order."""


RateTraceSettings: TypeAlias = (
    "FileRateTraceSettings | OpportunitiesRateTraceSettings | StepsRateTraceSettings"
)
"""When a link may send, instead of a constant rate. The trace repeats at its end."""


class RecordedWriteSettings(TypedDict, total=False):
    """A write of another application."""

    at: Required["Span | str"]
    """When, since the connection was established."""
    size: Required["ByteCount | str"]
    """How many bytes."""


class ReorderSettings(TypedDict, total=False):
    """Packets that overtake others."""

    probability: Required["Ratio | str"]
    """Share of packets that overtake, among those that may."""
    correlation: "Ratio | str"
    """Correlation of each draw with the previous one. Default: "0 ppb"."""
    gap: "int"
    """Only every n-th packet may overtake; each one if it is 1. Default: 1."""


class NoneRequestsSettings(TypedDict, total=False):
    """No requests: it gets its guaranteed slots, and free ones."""

    policy: Required["Literal['none']"]


class RbdcRequestsSettings(TypedDict, total=False):
    """The rate at which packets came since the last request, times `multiplier` (RBDC)."""

    policy: Required["Literal['rbdc']"]
    multiplier: "float"
    """Factor of the measured rate that it requests; default: 1."""


class RbdcStartRequestsSettings(TypedDict, total=False):
    """As `rbdc`, but multiplied only while a connection starts."""

    multiplier: Required["float"]
    """Factor of the measured rate that it requests in the start phase."""
    policy: Required["Literal['rbdc-start']"]
    idle: "Span | str"
    """Idle time after which the next packet begins a start phase; default: 2 s."""
    lasts: "Span | str"
    """Duration of the start phase; default: 10 s."""


class VbdcRequestsSettings(TypedDict, total=False):
    """The waiting bytes that were not yet requested; requests add up (VBDC)."""

    policy: Required["Literal['vbdc']"]


class AvbdcRequestsSettings(TypedDict, total=False):
    """The waiting bytes; a request replaces earlier ones (AVBDC)."""

    policy: Required["Literal['avbdc']"]


class ForecastRequestsSettings(TypedDict, total=False):
    """The predicted rate at the time when the slots arrive, from what left one round trip
    before and from how packets followed it."""

    policy: Required["Literal['forecast']"]
    round_trip: "Span | str"
    """The round trip; default: the path's RTT, or twice the signalling delay."""


RequestsSettings: TypeAlias = "NoneRequestsSettings | RbdcRequestsSettings | RbdcStartRequestsSettings | VbdcRequestsSettings | AvbdcRequestsSettings | ForecastRequestsSettings"
"""How a terminal requests capacity."""


class SharingSettings(TypedDict, total=False):
    """Memory of a host for its connections. It belongs to the host: groups that share on the
    same host need the same settings."""

    policy: Required["SharingPolicy"]
    """What is remembered, and how it is used."""
    capture_from: "Span | str"
    """When hosts begin to use their memory; default: at the beginning."""
    capture_until: "Span | str"
    """When they stop and forget everything; default: never."""
    collect: "Collection"
    """When a connection saves its values. Default: when it is closed with `classic` and exact
    trust, else when all data is acknowledged."""
    ensemble: "bool"
    """Whether connections that are open at the same time share their windows, too (RFC 9040
    section 7). Only with `rfc9040`; default: true."""
    entries: "int"
    """Largest number of remembered peers (`MAX_WINDLIST`); default: 1000."""
    forgetfulness: "Ratio | str"
    """Weight of a window that is smaller than the remembered one: 0 % keeps the largest one
    (the report's rule), 100 % remembers the last one. Only with `classic`."""
    largest_window: "int"
    """Largest window in segments that a connection begins with or jumps to; default: unlimited.
    Not with `tcp-metrics`."""
    lifetime: "Span | str"
    """Lifetime of a remembered value (`LIFETIME_WIND`); default: 10 minutes, or an hour with
    `tcp-metrics`."""
    openings: "SharedOpenings"
    """Connections that use the memory; default: with `classic` those that the peer opens, else
    all."""
    retreat: "Ratio | str"
    """Threshold after a retreat, as a share of the measured capacity of the path (50 %), from
    50 % to 100 %; only with `careful-resume`."""
    sample_every: "Span | str"
    """Interval at which open connections save their values, too; default: never."""
    save_threshold: "bool"
    """Whether connections begin with the saved threshold (`tcp_no_ssthresh_metrics_save` = 0,
    as before Linux 5.6). Only with `tcp-metrics`; default: false."""
    trust: "Trust"
    """Trust in a remembered window (`exact`); only with `classic`."""


class SlotSettings(TypedDict, total=False):
    """Deliveries in slots."""

    max_delay: Required["Span | str"]
    """Greatest time from one slot to the next."""
    min_delay: Required["Span | str"]
    """Least time from one slot to the next."""
    bytes: "int"
    """Largest number of bytes in one slot; default: unlimited."""
    packets: "int"
    """Largest number of packets in one slot; default: unlimited."""


class TcpSettings(TypedDict, total=False):
    """A TCP endpoint: a profile, and the mechanisms and constants that differ from it. A key
    that is left out keeps what the profile has."""

    ack_compression: "bool"
    """Acknowledgements of segments out of order are merged for up to a millisecond (Linux
    4.18)."""
    bundling: "bool"
    """Segments are sent in bundles of about a millisecond, which may wait for more (TSO)."""
    collapse_retransmissions: "bool"
    """Join small segments into full ones when they are retransmitted."""
    congestion: "CongestionSettings"
    """Congestion control."""
    delayed_ack: "bool"
    """Delayed acknowledgements (RFC 1122 section 4.2.3.2)."""
    duplicate_sack: "bool"
    """Segments that arrive twice are reported (D-SACK, RFC 2883)."""
    duplicate_threshold: "int"
    """Duplicate ACKs that start a fast retransmit (RFC 5681 section 3.2: 3)."""
    early_retransmit: "bool"
    """Early retransmit: fewer duplicate ACKs suffice with few segments outstanding (RFC 5827)."""
    ecn: "Ecn"
    """Explicit congestion notification (RFC 3168, RFC 9768): what a SYN asks for, and what is
    agreed to. Packets are marked where a queue discipline with `ecn` does so."""
    forward_rto: "bool"
    """Forward RTO recovery: new data first after a time-out (RFC 5682)."""
    hystart: "bool"
    """CUBIC leaves slow start when acknowledgements come in long trains or late (`HyStart`)."""
    inflight_limit: "bool"
    """The estimated bandwidth-delay product limits the flight (FreeBSD 4.7 to 6)."""
    initial_rto: "Span | str"
    """Retransmission time-out before the first RTT sample (RFC 6298 section 2.1: 1 s)."""
    initial_ssthresh: "int"
    """Initial slow-start threshold in segments; default: unbounded."""
    initial_window: "int"
    """Initial congestion window in segments (RFC 6928: 10)."""
    limited_transmit: "bool"
    """Limited transmit: new data on the first two duplicate ACKs (RFC 3042)."""
    linear_timeouts: "bool"
    """Linear time-outs (LT): no exponential back-off for the first time-outs of a thin stream."""
    loss_detection: "LossDetection"
    """Loss detection with SACK."""
    lost_retransmission_detection: "bool"
    """With SACK, a retransmission counts as lost when new data sent after it has arrived (Linux
    2.6); loss detection by time always does this."""
    maximum_rto: "Span | str"
    """Upper bound of the retransmission time-out (RFC 6298 section 2.5: at least 60 s)."""
    minimum_rto: "Span | str"
    """Lower bound of the retransmission time-out (RFC 6298 section 2.4: 1 s; Linux: 200 ms)."""
    modified_fast_retransmit: "bool"
    """Modified fast retransmit (mFR): retransmit on the first duplicate ACK while a stream is
    thin."""
    mss: "ByteCount | str"
    """Maximum segment size to announce; default: the path's MTU less 40 bytes."""
    nagle: "bool"
    """Nagle's algorithm (RFC 896); thin workloads switch it off unless it is set here."""
    pacing: "bool"
    """Bundles leave at twice the window per smoothed round trip in slow start, 1.2 windows
    afterwards, instead of in bursts."""
    profile: "Profile"
    """Named set of mechanisms and constants to start from; default: linux-6.18."""
    receive_buffer: "ByteCount | str"
    """Receive buffer: the largest advertised window."""
    redundant_bundling: "bool"
    """Redundant data bundling (RDB): while few segments are in flight, new segments also carry
    recent data that is not acknowledged (LCN 2015)."""
    redundant_bytes: "ByteCount | str"
    """Payload of a bundle at most; default: a full segment."""
    redundant_interval: "Span | str"
    """An application that writes at this interval (10 ms) or a shorter one gets no bundles
    while as many segments are in flight as fit into the smallest round trip."""
    redundant_segments: "int"
    """Largest number of older segments in a bundle (1); 0 for as many as fit."""
    reordering_detection: "bool"
    """Learn from reordering how many duplicate ACKs prove a loss."""
    retransmission_limit: "int"
    """Retransmissions of a segment before the connection is given up (RFC 9293 section 3.8.3)."""
    sack: "bool"
    """Selective acknowledgements (RFC 2018), used when both ends have them."""
    send_buffer: "ByteCount | str"
    """Send buffer: how much the application may have written that is not acknowledged yet."""
    sharing: "SharingSettings"
    """What the host remembers of its connections for the next ones to the same peer; default:
    nothing."""
    slow_start_after_idle: "bool"
    """Slow start after an idle period of more than one RTO (RFC 5681 section 4.1)."""
    smart_framing: "bool"
    """Smart framing (TCP-SF): a congestion window of fewer than four segments is divided into
    four smaller ones, so that duplicate ACKs detect a loss among them (Mellia and others,
    2005)."""
    syn_retries: "int"
    """Retransmissions of a SYN before the connection attempt is given up."""
    tail_loss_probe: "bool"
    """Tail loss probe: the last segment again after two round trips (RFC 8985 section 7)."""
    timestamps: "bool"
    """Timestamps (RFC 7323 section 3), used when both ends have them."""
    undo: "bool"
    """Undo reductions that prove spurious (RFC 3522, RFC 3708)."""
    window_reduction: "WindowReduction"
    """Reduction of the window after a loss."""
    window_scaling: "bool"
    """Window scaling (RFC 7323 section 2), used when both ends have it."""


class TerminalSettings(TypedDict, total=False):
    """Share of a carrier for a terminal, and how the terminal requests slots."""

    guaranteed_slots: "int"
    """Slots of every frame that are reserved for it, used or not (CRA); default: one."""
    most_slots: "int"
    """The most slots of a frame that it may have; default: all."""
    requests: "RequestsSettings"
    """How it requests slots; default: by measured rate."""
    takes_free: "bool"
    """Whether it gets a share of the slots that nobody requested (FCA). Default: false."""


class TopologySettings(TypedDict, total=False):
    """A network of hosts and routers."""

    hosts: Required["Sequence[str]"]
    """Names of the hosts: flows begin and end there; they forward nothing."""
    links: Required["Sequence[LinkSettings]"]
    """Links between them."""
    bottleneck: "str"
    """Name of the link that tables report as the bottleneck; default: the slowest one."""
    carriers: "Sequence[CarrierSettings]"
    """Carriers with slots that links share. Default: []."""
    ip_version: "IpVersion"
    """Version of the Internet Protocol, 4 or 6. Default: 4."""
    mtu: "ByteCount | str"
    """Largest IP packet. Default: "1.5 kB"."""
    routers: "Sequence[str]"
    """Names of the routers. Default: []."""


ByteVaryingSettings: TypeAlias = "ByteCount | str | ByteDistributionSettings"
"""A quantity that is constant, or drawn anew each time from a distribution."""

SpanVaryingSettings: TypeAlias = "Span | str | SpanDistributionSettings"
"""A quantity that is constant, or drawn anew each time from a distribution."""

CountVaryingSettings: TypeAlias = "int | CountDistributionSettings"
"""A quantity that is constant, or drawn anew each time from a distribution."""


class ThinWorkloadSettings(TypedDict, total=False):
    """A thin, application-limited stream: a small message at intervals."""

    interval: Required["SpanVaryingSettings"]
    """Time from one write to the next."""
    kind: Required["Literal['thin']"]
    packet: "ByteVaryingSettings"
    """Instead of the payload: the IP packet that one write makes, headers and options included."""
    payload: "ByteVaryingSettings"
    """Bytes that the application writes each time."""
    transport: "Transport"
    """Transport of the messages. Default: "tcp"."""


class GreedyWorkloadSettings(TypedDict, total=False):
    """A stream that always has something to send."""

    kind: Required["Literal['greedy']"]
    volume: "ByteCount | str"
    """Bytes to send before closing; default: unlimited."""


class RequestResponseWorkloadSettings(TypedDict, total=False):
    """Requests of the host that connects and responses of the other one, alternating on one
    connection."""

    kind: Required["Literal['request-response']"]
    request: Required["ByteVaryingSettings"]
    """Bytes of a request."""
    response: Required["ByteVaryingSettings"]
    """Bytes of a response."""
    exchanges: "int"
    """Number of exchanges before the connection is closed; default: unlimited."""
    pause: "SpanVaryingSettings"
    """Time from the last byte of a response to the next request; default: none."""
    think_time: "SpanVaryingSettings"
    """Time from the last byte of a request to its response; default: none."""


class ProfileWorkloadSettings(TypedDict, total=False):
    """A stream like that of a recorded application."""

    application: Required["RecordedApplication"]
    """The application; `fairwind applications` lists them with their parameters."""
    kind: Required["Literal['profile']"]
    transport: "Transport"
    """Transport of the messages, independent of the recorded one. Default: "tcp"."""


class OnOffWorkloadSettings(TypedDict, total=False):
    """Bursts with silence between them."""

    kind: Required["Literal['on-off']"]
    off: Required["SpanVaryingSettings"]
    """Duration of the silence between two bursts."""
    message: "ByteCount | str"
    """Bytes of each write if there is a rate; default: 1000 B."""
    on: "SpanVaryingSettings"
    """How long a burst lasts."""
    rate: "BitRate | str"
    """Rate of the writes in a burst; default: as fast as the network takes them."""
    volume: "ByteVaryingSettings"
    """Instead of the duration: bytes of a burst."""


class WebWorkloadSettings(TypedDict, total=False):
    """A web user: requests of the host that connects, objects of random sizes in response, one
    after the other on one connection."""

    kind: Required["Literal['web']"]
    embedded_object: "ByteVaryingSettings"
    """Bytes of an embedded object, headers included."""
    embedded_objects: "CountVaryingSettings"
    """Number of objects embedded in a page."""
    main_object: "ByteVaryingSettings"
    """Bytes of a page's main object, headers included."""
    pages: "int"
    """Number of pages before the connection is closed; default: unlimited."""
    parsing_time: "SpanVaryingSettings"
    """Time from the end of a main object to the request for the first embedded one."""
    reading_time: "SpanVaryingSettings"
    """Time from the end of a page to the request for the next one."""
    request: "ByteVaryingSettings"
    """Bytes of a request. Default: "350 B"."""


class TransfersWorkloadSettings(TypedDict, total=False):
    """Consecutive transfers, each on a new connection. The server sends and closes; the client
    reads to the end and connects again. The group's `count` is the number of clients. On a path
    the server is left of the bottleneck, so that its data passes it."""

    kind: Required["Literal['transfers']"]
    transfers: Required["int"]
    """Number of consecutive transfers, as far as the experiment lasts; none begins after the
    group's `stop`."""
    volume: Required["ByteVaryingSettings"]
    """Bytes of a transfer."""
    ack_delay: "Span | str"
    """Time for which the client holds back every ACK without data, its FIN included, so that it
    looks far away. Its SYN and its requests leave at once. Default: none."""
    pause: "SpanVaryingSettings"
    """Time from the end of a transfer to the next connection; default: none."""
    request: "ByteVaryingSettings"
    """Bytes of a request, which the server waits for; default: none, and the server sends as
    soon as it is connected."""


class ConstantWorkloadSettings(TypedDict, total=False):
    """A constant bit rate."""

    kind: Required["Literal['constant']"]
    rate: Required["BitRate | str"]
    """Rate of the IP packets, headers included."""
    packet: "ByteCount | str"
    """Instead of the payload: the IP packet that one write makes, headers and options included."""
    payload: "ByteCount | str"
    """Bytes that are written each time."""
    transport: "Transport"
    """Transport of the packets. Default: "udp"."""


class ReplayWorkloadSettings(TypedDict, total=False):
    """The writes of another application, with the same intervals."""

    kind: Required["Literal['replay']"]
    connection: "str"
    """Of a capture, which connection, as `fairwind analyse --filter` takes it; default: the
    direction with the most payload."""
    file: "str"
    """Name of a file with the writes, relative to the scenario's folder: a text with a line for
    each, which has the seconds since the connection was established, a comma, and the bytes; or
    a capture (pcap, pcapng)."""
    transport: "Transport"
    """Transport of the writes. Default: "tcp"."""
    writes: "Sequence[RecordedWriteSettings]"
    """Instead of a file: the writes, in the order of their times."""


class RelayWorkloadSettings(TypedDict, total=False):
    """The second half of split connections, as in a performance-enhancing proxy: this group's
    host relays the data that another group's connections bring. Connection `i` relays the data
    of connection `i` of that group. It opens when that connection is accepted, and closes when
    that one is closed and all data is written."""

    buffer: Required["ByteCount | str"]
    """Bytes that may wait between the two connections. If they are used up, the relay stops
    reading, and the window of the first connection closes."""
    kind: Required["Literal['relay']"]
    of: Required["str"]
    """The group with the data to relay; this group's `from` is that group's `to`."""


WorkloadSettings: TypeAlias = "ThinWorkloadSettings | GreedyWorkloadSettings | RequestResponseWorkloadSettings | ProfileWorkloadSettings | OnOffWorkloadSettings | WebWorkloadSettings | TransfersWorkloadSettings | ConstantWorkloadSettings | ReplayWorkloadSettings | RelayWorkloadSettings"
"""What the application of a flow writes, as described in a scenario."""


class ScenarioSettings(TypedDict, total=False):
    """One experiment: a network, the flows that share it, and what is measured."""

    duration: Required["Span | str"]
    """Duration, warm-up included."""
    flows: Required["Sequence[FlowsSettings]"]
    """Groups of flows with the same properties."""
    name: Required["str"]
    """Name of the experiment."""
    capture: "CaptureSettings"
    """Packets to be written to capture files; default: none."""
    description: "str"
    """Its purpose."""
    measure: "MeasureSettings"
    """What is measured."""
    path: "PathSettings"
    """A dumbbell: all flows share one bottleneck."""
    repeat: "int"
    """Number of runs of each point of the grid, each with another seed. Default: 1."""
    seed: "int"
    """Seed that all random draws are derived from. Default: 1."""
    sweep: "Mapping[str, Any]"
    """The sweep. A dotted key path with a list of values, or a named axis: a table of labels,
    each of which sets several key paths. Every combination is run."""
    topology: "TopologySettings"
    """Any other network: hosts, routers and links."""
