//! Assembly of an experiment into a network, flows and measures.

use crate::AssemblyError;
use crate::application::{Headers, Prototypes, prototypes};
use crate::flow::{
    DatagramPlan, FlowPlan, NextConnection, ResponsePlan, addresses, connections_of, receiver_port,
    sender_port,
};
use crate::run::{Purpose, derive_seed};
use crate::tap::QueueMap;
use fairwind_measure::{
    FlowDescription, FlowId, ObservationPoints, QueueEventSettings, QueueId, Settings,
};
use fairwind_network::{
    CarrierAccess, CarrierId, LinkSpec, Network, NodeId, Packet, Qdisc, Topology,
};
use fairwind_scenario::{
    AssignedSlots, Experiment, FlowGroup, Link, NodeKind, QueueEvents, Transport, Workload,
};
use fairwind_units::{ByteCount, Instant};
use fairwind_workload::Application;

/// Everything that an experiment is made of but endpoints and a clock.
pub struct Assembly<P> {
    /// Hosts, routers and links; a node's id is its place in the experiment's list of nodes.
    pub network: Network<P>,
    /// Which of its links are measured as queues.
    pub queues: QueueMap,
    /// The connections, in the order of the scenario.
    pub flows: Vec<FlowPlan>,
    /// The streams of datagrams, in the order of the scenario.
    pub datagrams: Vec<DatagramPlan>,
    /// What is measured: the flows of all connections' opening sides, then those that answer, then the
    /// streams of datagrams.
    pub settings: Settings,
}

impl<P: Packet> Assembly<P> {
    /// Builds what `experiment` describes, with every random choice drawn from `seed`;
    /// `timestamps` says of a group whether its packets carry them (RFC 7323).
    ///
    /// # Errors
    /// Where the description is inconsistent; a checked scenario is not.
    pub fn new(
        experiment: &Experiment,
        seed: u64,
        timestamps: impl Fn(&FlowGroup) -> bool,
    ) -> Result<Self, AssemblyError> {
        check_groups(experiment)?;
        let (queues, queue_names) = queues(experiment);
        let mut assembly = Self {
            network: network(experiment, seed)?,
            queues,
            flows: Vec::new(),
            datagrams: Vec::new(),
            settings: settings(experiment, queue_names),
        };
        let (ip_version, mtu) = (experiment.network.ip_version, experiment.network.mtu.get());
        let of_group = |group: &FlowGroup| {
            let transport = group.workload.transport();
            let timestamps = timestamps(group);
            prototypes(&group.workload, Headers { ip_version, timestamps, transport, mtu })
        };
        let all = experiment.flows.iter().map(of_group).collect::<Result<Vec<_>, _>>()?;
        let groups = || (0..).zip(&experiment.flows).zip(&all);
        for ((number, group), prototypes) in groups().filter(|group| !sends_datagrams(group.0.1)) {
            assembly.add_group(experiment, number, group, prototypes, seed)?;
        }
        for ((number, group), prototypes) in groups() {
            if let (Some(name), Some(application)) = (group.answers_name(), &prototypes.answering) {
                let in_turn = group.workload.connections_in_turn();
                assembly.add_responses((number, in_turn), application, &name, seed);
            }
        }
        assembly.join_relays(experiment)?;
        for ((number, group), prototypes) in groups().filter(|group| sends_datagrams(group.0.1)) {
            assembly.add_datagrams(experiment, number, group, prototypes, seed)?;
        }
        assembly.settings.check()?;
        Ok(assembly)
    }

    fn add_group(
        &mut self,
        experiment: &Experiment,
        number: usize,
        group: &FlowGroup,
        prototypes: &Prototypes,
        seed: u64,
    ) -> Result<(), AssemblyError> {
        let ends = self.ends(experiment, group)?;
        let in_turn = group.workload.connections_in_turn();
        let stop = group.stop.map_or(Instant::MAX, |stop| Instant::ZERO + stop);
        let connections =
            u32::try_from(group.connections()).map_err(|_| AssemblyError::TooManyConnections {
                group: group.name.clone(),
                connections: group.connections(),
            })?;
        for index in 0..connections {
            let id = FlowId(u32::try_from(self.flows.len()).expect("a flow's number"));
            let draw = |purpose| derive_seed(seed, purpose, u64::from(id.0));
            let turn = turn_of(index, in_turn);
            let start = if turn.number == 0 {
                Instant::ZERO + group.start_of(turn.caller, draw(Purpose::Start))
            } else {
                FlowDescription::START_PENDING
            };
            let plan = FlowPlan {
                flow: id,
                group: number,
                index,
                name: turn.name(&group.name),
                sender_node: ends.0,
                receiver_node: ends.1,
                addresses: addresses(experiment.network.ip_version, ends.0, ends.1, index),
                sender_port: sender_port(index),
                receiver_port: receiver_port(number),
                application: prototypes.opening.seeded(draw(Purpose::Application)),
                response: None,
                relays: None,
                start,
                // With consecutive connections, the current one continues to its end.
                stop: if in_turn == 1 { stop } else { Instant::MAX },
                is_captured: is_captured(experiment, group, index),
                next: (turn.number + 1 < in_turn).then(|| next_of(id, prototypes, seed, stop)),
                ack_delay: group.workload.ack_delay(),
            };
            self.measure(number, &plan.name, plan.start, ObservationPoints::EVERYWHERE);
            self.flows.push(plan);
        }
        Ok(())
    }

    fn measure(&mut self, group: usize, name: &str, start: Instant, seen_at: ObservationPoints) {
        let group = u32::try_from(group).expect("a group's number");
        let flow = FlowDescription { group, name: name.to_owned(), start, answers: None, seen_at };
        self.settings.flows.push(flow);
    }

    /// Adds the flows of the data that goes the other way on the connections of group `number`.
    fn add_responses(
        &mut self,
        (number, in_turn): (usize, u32),
        application: &Application,
        name: &str,
        seed: u64,
    ) {
        let response_group = u32::try_from(self.settings.groups.len()).expect("a group's number");
        self.settings.groups.push(name.to_owned());
        for plan in self.flows.iter_mut().filter(|plan| plan.group == number) {
            let seed = derive_seed(seed, Purpose::Application, u64::from(plan.flow.0));
            let application = application.seeded(seed);
            let flow = u32::try_from(self.settings.flows.len()).expect("a flow's number");
            self.settings.flows.push(FlowDescription {
                group: response_group,
                name: turn_of(plan.index, in_turn).name(name),
                start: plan.start,
                answers: Some(plan.flow),
                seen_at: ObservationPoints::EVERYWHERE,
            });
            plan.response = Some(ResponsePlan { flow: FlowId(flow), application });
        }
    }

    /// Adds the flows of group `number`, which sends datagrams.
    fn add_datagrams(
        &mut self,
        experiment: &Experiment,
        number: usize,
        group: &FlowGroup,
        prototypes: &Prototypes,
        seed: u64,
    ) -> Result<(), AssemblyError> {
        let ends = self.ends(experiment, group)?;
        let ip_version = experiment.network.ip_version;
        let room = experiment.network.mtu.get().saturating_sub(ip_version.datagram_header_bytes());
        for index in 0..group.count {
            let id = u32::try_from(self.settings.flows.len()).expect("a flow's number");
            let draw = |purpose| derive_seed(seed, purpose, u64::from(id));
            let start = group.start_of(index, draw(Purpose::Start));
            let plan = DatagramPlan {
                flow: FlowId(id),
                group: number,
                name: format!("{}-{}", group.name, index + 1),
                sender_node: ends.0,
                receiver_node: ends.1,
                addresses: addresses(ip_version, ends.0, ends.1, index),
                sender_port: sender_port(index),
                receiver_port: receiver_port(number),
                application: prototypes.opening.seeded(draw(Purpose::Application)),
                most_payload: u32::try_from(room.max(1)).unwrap_or(u32::MAX),
                start: Instant::ZERO + start,
                stop: group.stop.map_or(Instant::MAX, |stop| Instant::ZERO + stop),
            };
            self.measure(number, &plan.name, plan.start, ObservationPoints::DATAGRAMS);
            self.datagrams.push(plan);
        }
        Ok(())
    }

    /// Gives each flow that relays the flow that it does, and measures it from where its data comes from: its start
    /// is that of the transfer.
    fn join_relays(&mut self, experiment: &Experiment) -> Result<(), AssemblyError> {
        for (number, group) in experiment.flows.iter().enumerate() {
            let Some(of) = group.workload.relayed() else { continue };
            let first = experiment.flows.iter().position(|other| other.name == of);
            self.join(number, first).ok_or_else(|| AssemblyError::NothingToRelay {
                group: group.name.clone(),
                of: of.to_owned(),
            })?;
        }
        for place in 0..self.flows.len() {
            if self.flows[place].relays.is_some() {
                let origin = self.origin(place);
                self.settings.flows[place].start = self.flows[origin].start;
            }
        }
        Ok(())
    }

    /// Joins the flows of group `relay` to those of group `first`, one to one; `None` where they do not fit.
    fn join(&mut self, relay: usize, first: Option<usize>) -> Option<()> {
        let first_place = self.flows.iter().position(|flow| Some(flow.group) == first)?;
        let of_relay = |flow: &&mut FlowPlan| flow.group == relay;
        let (mut ends, mut place) = (Vec::new(), first_place);
        while let Some(flow) = self.flows.get(place).filter(|flow| Some(flow.group) == first) {
            ends.push((flow.flow, flow.receiver_node));
            place += 1;
        }
        let mut ends = ends.into_iter();
        for flow in self.flows.iter_mut().filter(of_relay) {
            let (relayed, node): (FlowId, _) = ends.next()?;
            if node != flow.sender_node || relayed == flow.flow {
                return None;
            }
            flow.relays = Some(relayed);
            flow.start = Instant::MAX;
        }
        ends.next().is_none().then_some(())
    }

    /// The index of the flow with the data that the one in `place` carries.
    fn origin(&self, mut place: usize) -> usize {
        // In a circle, which no checked scenario has, it ends somewhere.
        for _ in 0..self.flows.len() {
            let Some(relayed) = self.flows[place].relays else { break };
            place = relayed.index();
        }
        place
    }

    /// The nodes of the group's two hosts, which reach each other.
    fn ends(
        &self,
        experiment: &Experiment,
        group: &FlowGroup,
    ) -> Result<(NodeId, NodeId), AssemblyError> {
        let what = || format!("group \"{}\"", group.name);
        let ends = (node(experiment, &group.from, what)?, node(experiment, &group.to, what)?);
        self.check_route(group, ends, (&group.from, &group.to))?;
        self.check_route(group, (ends.1, ends.0), (&group.to, &group.from))?;
        Ok(ends)
    }

    fn check_route(
        &self,
        group: &FlowGroup,
        (from, to): (NodeId, NodeId),
        names: (&str, &str),
    ) -> Result<(), AssemblyError> {
        match self.network.route(from, to) {
            Some(_) => Ok(()),
            None => Err(AssemblyError::Unreachable {
                group: group.name.clone(),
                from: names.0.to_owned(),
                to: names.1.to_owned(),
            }),
        }
    }
}

/// What follows connection `id`, unless it would begin at `until` or later.
fn next_of(id: FlowId, prototypes: &Prototypes, seed: u64, until: Instant) -> NextConnection {
    let drawn = derive_seed(seed, Purpose::Pause, u64::from(id.0));
    NextConnection { flow: FlowId(id.0 + 1), pause: prototypes.pause.time_of_seed(drawn), until }
}

/// Which connection of which caller.
struct Turn {
    caller: u32,
    number: u32,
    of: u32,
}

fn turn_of(index: u32, in_turn: u32) -> Turn {
    Turn { caller: index / in_turn, number: index % in_turn, of: in_turn }
}

impl Turn {
    /// What the flow is called: by its number in its group; where connections follow one another, by its caller's and its
    /// own among that one's.
    fn name(&self, group: &str) -> String {
        let caller = self.caller + 1;
        if self.of == 1 {
            format!("{group}-{caller}")
        } else {
            format!("{group}-{caller}-{}", self.number + 1)
        }
    }
}

fn sends_datagrams(group: &FlowGroup) -> bool {
    group.workload.transport() == Transport::Udp
}

fn network<P: Packet>(experiment: &Experiment, seed: u64) -> Result<Network<P>, AssemblyError> {
    let mut topology = Topology::new();
    for node in &experiment.network.nodes {
        match node.kind {
            NodeKind::Host => topology.add_host(&node.name),
            NodeKind::Router => topology.add_router(&node.name),
        };
    }
    name_flows(&mut topology, experiment);
    let carriers: Vec<CarrierId> =
        experiment.network.carriers.iter().map(|carrier| topology.add_carrier(*carrier)).collect();
    for link in &experiment.network.links {
        let what = || format!("link \"{}\"", link.name);
        let from = node(experiment, &link.from, what)?;
        let to = node(experiment, &link.to, what)?;
        topology.add_link(from, to, link_spec(link, &carriers));
    }
    Ok(topology.build(derive_seed(seed, Purpose::Network, 0))?)
}

/// Gives filters the connections of a group.
fn name_flows(topology: &mut Topology, experiment: &Experiment) {
    for (number, group) in experiment.flows.iter().enumerate() {
        topology.add_flow_group(&group.name, connections_of(number));
    }
}

fn node(
    experiment: &Experiment,
    name: &str,
    what: impl Fn() -> String,
) -> Result<NodeId, AssemblyError> {
    let index = experiment.network.node_index(name);
    index
        .map(NodeId::from_index)
        .ok_or_else(|| AssemblyError::UnknownNode { what: what(), node: name.to_owned() })
}

fn link_spec(link: &Link, carriers: &[CarrierId]) -> LinkSpec {
    let carrier_access = link.assigned.and_then(|AssignedSlots { carrier, terminal }| {
        let carrier = *carriers.get(carrier)?;
        Some(CarrierAccess { carrier, terminal })
    });
    LinkSpec {
        // What slots carry at most is no rate at which packets leave.
        rate: link.rate.filter(|_| carrier_access.is_none()),
        rate_trace: link.rate_trace.clone(),
        carrier_access,
        delay: link.delay,
        queue: link.queue.clone(),
        loss: link.loss,
        impairments: link.impairments.clone(),
        overhead_bytes: link.overhead_bytes,
    }
}

/// Links that can delay by queueing or drop are measured as queues; one with slots has a rate here, too.
fn queues(experiment: &Experiment) -> (QueueMap, Vec<String>) {
    let mut names = Vec::new();
    let mut by_link = Vec::new();
    for link in &experiment.network.links {
        let measured = link.rate.is_some()
            || link.loss.as_parts_per_billion() > 0
            || link.queue != Qdisc::default()
            || !link.impairments.is_none();
        by_link.push(measured.then(|| {
            names.push(link.name.clone());
            QueueId(u32::try_from(names.len() - 1).expect("a network has fewer than 2^32 links"))
        }));
    }
    (QueueMap { by_link }, names)
}

fn settings(experiment: &Experiment, queues: Vec<String>) -> Settings {
    let measure = &experiment.measure;
    Settings {
        groups: experiment.flows.iter().map(|group| group.name.clone()).collect(),
        flows: Vec::new(),
        origin: Instant::ZERO,
        warmup: measure.warmup,
        end: Instant::ZERO + experiment.duration,
        intervals: measure.intervals.clone(),
        max_empty_rows: None,
        per_flow_intervals: measure.per_flow_intervals,
        percentiles: measure.percentiles.clone(),
        queue_events: measure.queue_events.as_ref().map(|events| queue_events(events, &queues)),
        queues,
        queue_interval: Some(measure.queue_interval(experiment.duration)),
        keeps_endpoint_samples: measure.endpoint_interval.is_some() || measure.endpoint_every_ack,
    }
}

/// The events of queues that are asked for; a link without a queue has none.
fn queue_events(asked: &QueueEvents, names: &[String]) -> QueueEventSettings {
    let of_name = |name: &String| {
        let place = names.iter().position(|known| known == name)?;
        Some(QueueId(u32::try_from(place).expect("a network has fewer than 2^32 links")))
    };
    QueueEventSettings {
        queues: asked.queues.as_ref().map(|queues| queues.iter().filter_map(of_name).collect()),
        from: Instant::ZERO + asked.from,
        until: asked.until.map_or(Instant::MAX, |until| Instant::ZERO + until),
        most: asked.most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX),
    }
}

/// Whether the scenario wants flow `index` of `group` captured.
fn is_captured(experiment: &Experiment, group: &FlowGroup, index: u32) -> bool {
    experiment.capture.as_ref().is_some_and(|capture| {
        let named = capture.groups.as_ref().is_none_or(|groups| groups.contains(&group.name));
        named && capture.flows_per_group.is_none_or(|most| index < most)
    })
}

/// Whether groups have flows that can write, and filters ask for none but these groups.
fn check_groups(experiment: &Experiment) -> Result<(), AssemblyError> {
    for group in &experiment.flows {
        if group.connections() == 0 {
            return Err(AssemblyError::NoFlows { group: group.name.clone() });
        }
        check_writes(group)?;
    }
    for link in &experiment.network.links {
        let is_unknown = |(_, group): &(String, String)| {
            experiment.flows.iter().all(|known| known.name != *group)
        };
        if let Some((key, group)) = link.queue.groups().into_iter().find(is_unknown) {
            return Err(AssemblyError::UnknownGroup { link: link.name.clone(), key, group });
        }
    }
    Ok(())
}

/// Whether the writes that a group replays are writes, in the order of their times.
fn check_writes(group: &FlowGroup) -> Result<(), AssemblyError> {
    let Workload::Replay { writes, .. } = &group.workload else { return Ok(()) };
    let is_empty = |index: usize| writes[index].size == ByteCount::ZERO;
    let is_early = |index: usize| index > 0 && writes[index].at < writes[index - 1].at;
    match (0..writes.len()).find(|&index| is_empty(index) || is_early(index)) {
        Some(index) => Err(AssemblyError::Writes { group: group.name.clone(), number: index + 1 }),
        None => Ok(()),
    }
}
