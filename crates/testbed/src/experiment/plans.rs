//! Plans of the hosts of an experiment, and their table of results.

use fairwind_assembly::{DatagramPlan, FlowPlan, NextConnection};
use fairwind_hosts::{
    HostPlan, HostStatistics, IncomingDatagrams, IncomingPlan, NextOutgoing, OutgoingDatagrams,
    OutgoingPlan, PROTOCOL_VERSION, PayloadCheck, ReplyPlan, Sampling,
};
use fairwind_kernel_settings::{HostSettings, Settings};
use fairwind_linux as linux;
use fairwind_linux::RunName;
use fairwind_measure::{HostLateness, Table};
use fairwind_network::NodeId;
use fairwind_recorder::REPORT_INTERVAL;
use fairwind_scenario::Experiment;
use fairwind_units::Span;
use fairwind_windows::WindowOptions;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Interval of polls for time-outs and recoveries of connections with bytes outstanding.
pub(super) const LOSS_INTERVAL: Span = Span::from_millis(50);
/// Intervals of the router's reports for one of a host.
pub(super) const HOST_REPORTS: u64 = 2;

/// A host, and where it is in the network.
pub(super) struct PlannedHost {
    pub(super) node: NodeId,
    pub(super) plan: HostPlan,
    /// Its options for remembered windows.
    pub(super) windows: Option<WindowOptions>,
}

impl PlannedHost {
    /// Fits the plan to this run; `is_watched` says whether tracepoints report time-outs and recoveries.
    pub(super) fn prepare(&mut self, run: RunName, is_watched: bool) {
        if linux::is_root() {
            self.plan.namespace = Some(run.of(&self.plan.name));
        }
        if is_watched {
            self.plan.sampling.loss_interval = None;
        }
    }
}

/// The hosts that `flows` and `datagrams` begin or end at, in the order of the network's nodes.
pub(super) fn hosts(
    experiment: &Experiment,
    settings: &Settings,
    flows: &[FlowPlan],
    datagrams: &[DatagramPlan],
) -> Vec<PlannedHost> {
    let onward = onward(flows);
    let planned = |host: &HostSettings| {
        let node = NodeId::from_index(experiment.network.node_index(&host.name)?);
        let mut plan = empty(experiment, host);
        for (number, flow) in (0..).zip(flows) {
            add_flow(&mut plan, node, number, flow, settings);
        }
        set_carriers(&mut plan, &onward);
        for stream in datagrams {
            add_datagrams(&mut plan, node, stream);
        }
        Some(PlannedHost { node, plan, windows: host.windows })
    };
    settings.hosts.iter().filter_map(planned).collect()
}

fn empty(experiment: &Experiment, host: &HostSettings) -> HostPlan {
    HostPlan {
        version: PROTOCOL_VERSION,
        name: host.name.clone(),
        namespace: None,
        control_group: None,
        addresses: Vec::new(),
        mtu: experiment.network.mtu,
        sysctls: host.sysctls.clone(),
        route_attributes: host.route_attributes.clone(),
        device_attributes: host.device_attributes.clone(),
        veth: None,
        outgoing: Vec::new(),
        incoming: Vec::new(),
        outgoing_datagrams: Vec::new(),
        incoming_datagrams: Vec::new(),
        sampling: Sampling {
            endpoint_interval: experiment.measure.endpoint_interval,
            loss_interval: Some(LOSS_INTERVAL),
        },
        report_interval: REPORT_INTERVAL * HOST_REPORTS,
        is_time_virtual: false,
        payload: PayloadCheck::Off,
    }
}

fn add_flow(plan: &mut HostPlan, node: NodeId, number: u32, flow: &FlowPlan, settings: &Settings) {
    let group = &settings.groups[flow.group];
    let (sender, receiver) = (flow.sender_end(), flow.receiver_end());
    if flow.sender_node == node {
        add_address(plan, sender.ip());
        plan.outgoing.push(OutgoingPlan {
            flow: number,
            local: sender,
            remote: receiver,
            socket: group.sender.clone(),
            application: flow.application.clone(),
            start: flow.start,
            stop: flow.stop,
            reads: flow.response.as_ref().map(|answer| answer.flow.0),
            relays: flow.relays.map(|relayed| relayed.0),
            carried_by: Vec::new(),
            next: flow.next.map(|NextConnection { flow, pause, until }| NextOutgoing {
                flow: flow.0,
                pause,
                until,
            }),
        });
    }
    if flow.receiver_node == node {
        add_address(plan, receiver.ip());
        plan.incoming.push(IncomingPlan {
            flow: number,
            local: receiver,
            remote: sender,
            socket: group.receiver.clone(),
            answer: flow.response.as_ref().map(|answer| ReplyPlan {
                flow: answer.flow.0,
                application: answer.application.clone(),
            }),
        });
    }
}

/// By flow that is relayed, the flow that passes its data on.
fn onward(flows: &[FlowPlan]) -> BTreeMap<u32, u32> {
    flows.iter().filter_map(|flow| Some((flow.relays?.0, flow.flow.0))).collect()
}

/// Sets, for each connection with its own data, the relays that carry it, in order.
fn set_carriers(plan: &mut HostPlan, onward: &BTreeMap<u32, u32>) {
    for outgoing in plan.outgoing.iter_mut().filter(|outgoing| outgoing.relays.is_none()) {
        let next = |flow: &u32| onward.get(flow).copied();
        outgoing.carried_by = std::iter::successors(next(&outgoing.flow), next).collect();
    }
}

fn add_datagrams(plan: &mut HostPlan, node: NodeId, stream: &DatagramPlan) {
    let (sender, receiver) = (stream.sender_end(), stream.receiver_end());
    if stream.sender_node == node {
        add_address(plan, sender.ip());
        plan.outgoing_datagrams.push(OutgoingDatagrams {
            flow: stream.flow.0,
            local: sender,
            remote: receiver,
            application: stream.application.clone(),
            most_payload: stream.most_payload,
            start: stream.start,
            stop: stream.stop,
        });
    }
    if stream.receiver_node == node {
        add_address(plan, receiver.ip());
        plan.incoming_datagrams.push(IncomingDatagrams {
            flow: stream.flow.0,
            local: receiver,
            remote: sender,
        });
    }
}

fn add_address(plan: &mut HostPlan, address: IpAddr) {
    if !plan.addresses.contains(&address) {
        plan.addresses.push(address);
    }
}

/// One row for each host, by name.
pub(super) fn hosts_table(hosts: &[(String, HostStatistics)]) -> Table {
    let rows: Vec<HostLateness> = hosts
        .iter()
        .map(|(name, statistics)| HostLateness {
            host: name.clone(),
            timed_writes: statistics.timed_writes,
            mean: statistics.mean_lateness,
            p99: statistics.p99_lateness,
            maximum: statistics.greatest_lateness,
            unexpected_connections: statistics.unexpected_connections,
            broken_connections: statistics.broken_while_reading,
        })
        .collect();
    fairwind_measure::hosts_table(&rows)
}
