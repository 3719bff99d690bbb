//! The TCP settings of a scenario become an endpoint's behaviour.

use crate::{SimulationError, window_caches};
use fairwind_scenario::{
    self as scenario, Congestion, ConstantsFor, Ecn, Profile, TcpSettings, ThinDefinition, Timers,
    Workload,
};
use fairwind_tcp::{
    AckDelay, BundlingStreams, Config, CongestionAlgorithm, EarlyRetransmit, EcnConfig,
    EcnFeedback, Factor, IdleRestart, LossDetection, LossRecovery, LostRetransmissions, Nagle,
    PluggedAlgorithm, RecoveryConstants, RedundantBundling, ReorderingDetection, SmartFraming,
    TailLossProbe, ThinStreams, TimerRule, WindowReduction,
};
use fairwind_units::Ratio;

/// The behaviour that `settings` describe, for the endpoints of `group`. Congestion controls that are not the
/// repository's are among `controls`.
pub(crate) fn config(
    group: &str,
    settings: &TcpSettings,
    workload: &Workload,
    controls: &[PluggedAlgorithm],
) -> Result<Config, SimulationError> {
    let profile = profile(settings.profile());
    let mut config = profile.config();
    config.timers = settings.timers.map_or_else(|| profile.timers(), timer_rule);
    set_mechanisms(&mut config, settings);
    set_constants(&mut config, settings);
    set_thin_recovery(&mut config, settings);
    set_sizes(&mut config, group, settings)?;
    if let Some(congestion) = settings.congestion {
        config.congestion = match congestion {
            Congestion::Reno => CongestionAlgorithm::Reno,
            Congestion::Bic => CongestionAlgorithm::Bic,
            Congestion::Cubic => profile.cubic(),
            Congestion::Bbr => CongestionAlgorithm::Plugged(fairwind_tcp::bbr1()),
            Congestion::Bbr3 => CongestionAlgorithm::Plugged(fairwind_tcp::bbr3()),
            Congestion::Plugged(control) => {
                CongestionAlgorithm::Plugged(plugged(group, &control.label(), controls)?)
            }
        };
    }
    config.nagle = if settings.has_nagle(workload) { profile.nagle() } else { Nagle::Off };
    Ok(config)
}

/// The algorithm of this name that was handed in, or else the repository's.
fn plugged(
    group: &str,
    name: &str,
    controls: &[PluggedAlgorithm],
) -> Result<PluggedAlgorithm, SimulationError> {
    let provided = controls.iter().find(|algorithm| algorithm.0.name() == name).cloned();
    provided.or_else(|| fairwind_congestion::built_in(name)).ok_or_else(|| {
        SimulationError::UnknownControl { group: group.to_owned(), name: name.to_owned() }
    })
}

fn profile(named: Profile) -> fairwind_tcp::Profile {
    match named {
        Profile::Rfc => fairwind_tcp::Profile::Rfc,
        Profile::Linux2_6 => fairwind_tcp::Profile::Linux2_6,
        Profile::Linux3_16 => fairwind_tcp::Profile::Linux3_16,
        Profile::Linux6_18 => fairwind_tcp::Profile::Linux6_18,
        Profile::Linux7_3 => fairwind_tcp::Profile::Linux7_3,
        Profile::FreeBsd5_4 => fairwind_tcp::Profile::FreeBsd5_4,
        Profile::FreeBsd14 => fairwind_tcp::Profile::FreeBsd14,
    }
}

fn timer_rule(named: Timers) -> TimerRule {
    match named {
        Timers::Exact => TimerRule::Exact,
        Timers::Slack => fairwind_tcp::SLACK_TIMERS,
        Timers::Wheel => fairwind_tcp::WHEEL_TIMERS,
    }
}

fn set_mechanisms(config: &mut Config, settings: &TcpSettings) {
    set(&mut config.sack, settings.sack);
    set(&mut config.timestamps, settings.timestamps);
    set(&mut config.window_scaling, settings.window_scaling);
    set(&mut config.limited_transmit, settings.limited_transmit);
    set(&mut config.modified_fast_retransmit, settings.modified_fast_retransmit);
    set(&mut config.linear_timeouts, settings.linear_timeouts);
    set(&mut config.collapse_retransmissions, settings.collapse_retransmissions);
    set_loss_recovery(&mut config.loss, settings);
    set(&mut config.growth.hystart, settings.hystart);
    set(&mut config.growth.inflight_limit, settings.inflight_limit);
    config.growth.shares = window_caches::active(settings).is_some();
    set(&mut config.receiving.duplicate_sack, settings.duplicate_sack);
    let usual = fairwind_tcp::Profile::Linux6_18.config();
    let compression = usual.receiving.compression;
    switch(&mut config.receiving.compression, settings.ack_compression, None, compression);
    switch(&mut config.sending.bundling, settings.bundling, None, usual.sending.bundling);
    set(&mut config.sending.pacing.enabled, settings.pacing);
    config.sending.redundancy = redundancy(settings);
    config.sending.framing = (settings.smart_framing == Some(true)).then_some(SmartFraming::USUAL);
    if let Some(ecn) = settings.ecn {
        set_ecn(&mut config.ecn, ecn);
    }
    if settings.delayed_ack == Some(false) {
        config.ack_delay = AckDelay::None;
    }
    match settings.slow_start_after_idle {
        Some(false) => config.idle_restart = IdleRestart::Off,
        Some(true) if config.idle_restart == IdleRestart::Off => {
            config.idle_restart = IdleRestart::InitialWindow;
        }
        _ => {}
    }
}

/// No profile bundles old data, so the settings say all.
fn redundancy(settings: &TcpSettings) -> Option<RedundantBundling> {
    if settings.redundant_bundling != Some(true) {
        return None;
    }
    let mut rule = RedundantBundling::USUAL;
    set(&mut rule.min_interval, settings.redundant_interval);
    if let Some(streams) = settings.redundant_streams {
        rule.streams = match streams {
            scenario::BundlingStreams::Interval => BundlingStreams::Interval,
            scenario::BundlingStreams::Thin => BundlingStreams::Thin,
            scenario::BundlingStreams::All => BundlingStreams::All,
        };
    }
    if let Some(segments) = settings.redundant_segments {
        rule.max_segments = (segments > 0).then_some(segments);
    }
    // More than a segment holds bounds nothing.
    rule.max_bytes = settings.redundant_bytes.and_then(|bytes| u32::try_from(bytes.get()).ok());
    Some(rule)
}

fn set_ecn(config: &mut EcnConfig, setting: Ecn) {
    (config.outgoing, config.incoming) = match setting {
        Ecn::Off => (EcnFeedback::None, EcnFeedback::None),
        Ecn::WhenAsked => (EcnFeedback::None, EcnFeedback::Classic),
        Ecn::Classic => (EcnFeedback::Classic, EcnFeedback::Classic),
        Ecn::Accurate => (EcnFeedback::Accurate, EcnFeedback::Accurate),
    };
}

fn set_loss_recovery(loss: &mut LossRecovery, settings: &TcpSettings) {
    set(&mut loss.forward_rto, settings.forward_rto);
    set(&mut loss.undo, settings.undo);
    if let Some(detection) = settings.loss_detection {
        loss.detection = match detection {
            scenario::LossDetection::Rack => LossDetection::Rack,
            scenario::LossDetection::Rfc6675 => LossDetection::Rfc6675,
            scenario::LossDetection::Forward => LossDetection::Fack,
        };
    }
    if let Some(reduction) = settings.window_reduction {
        loss.reduction = match reduction {
            scenario::WindowReduction::AtOnce => WindowReduction::Immediate,
            scenario::WindowReduction::RateHalving => WindowReduction::RateHalving,
            scenario::WindowReduction::Proportional => WindowReduction::Proportional,
            scenario::WindowReduction::ProportionalSafe => WindowReduction::ProportionalSafe,
        };
    }
    switch(
        &mut loss.lost_retransmissions,
        settings.lost_retransmission_detection,
        LostRetransmissions::TimedOut,
        LostRetransmissions::ByReach,
    );
    switch(
        &mut loss.tail_loss_probe,
        settings.tail_loss_probe,
        TailLossProbe::Off,
        TailLossProbe::Rfc8985,
    );
    switch(
        &mut loss.early_retransmit,
        settings.early_retransmit,
        EarlyRetransmit::Off,
        EarlyRetransmit::Immediate,
    );
    if let Some(delay) = settings.early_retransmit_delay {
        loss.early_retransmit_delay = Factor::from_ratio(delay);
        if loss.early_retransmit != EarlyRetransmit::Off {
            loss.early_retransmit = match delay {
                Ratio::ZERO => EarlyRetransmit::Immediate,
                _ => EarlyRetransmit::Delayed,
            };
        }
    }
    set(&mut loss.rack_adapts, settings.reordering_window_grows);
    set(&mut loss.rack_duplicate_threshold, settings.rack_duplicate_threshold);
    switch(
        &mut loss.reordering,
        settings.reordering_detection,
        ReorderingDetection::Off,
        ReorderingDetection::Measured { max: 300 },
    );
}

/// Which streams are thin, and constants for them or for all.
fn set_thin_recovery(config: &mut Config, settings: &TcpSettings) {
    let thin = &mut config.thin;
    set(&mut thin.linear_retries, settings.linear_retries);
    set(&mut thin.duplicate_threshold, settings.thin_duplicate_threshold);
    match settings.thin_definition {
        None | Some(ThinDefinition::FewOutstanding) => {
            if let Some(below) = settings.thin_segments {
                thin.streams = ThinStreams::FewOutstanding { below };
            }
        }
        Some(ThinDefinition::ApplicationLimited) => thin.streams = ThinStreams::ApplicationLimited,
        Some(ThinDefinition::All) => thin.streams = ThinStreams::All,
    }
    let constants = recovery_constants(config.loss.constants, settings);
    match settings.constants_for {
        None | Some(ConstantsFor::All) => config.loss.constants = constants,
        Some(ConstantsFor::Thin) => thin.constants = Some(constants),
    }
}

fn recovery_constants(
    mut constants: RecoveryConstants,
    settings: &TcpSettings,
) -> RecoveryConstants {
    let factor = |times: scenario::Factor| Factor::from_ratio(times.ratio());
    set(&mut constants.backoff_factor, settings.backoff_factor.map(factor));
    set(&mut constants.probe_factor, settings.probe_factor.map(factor));
    set(&mut constants.reordering_window, settings.reordering_window.map(Factor::from_ratio));
    if settings.probe_ack_delay.is_some() {
        constants.probe_ack_delay = settings.probe_ack_delay;
    }
    constants
}

/// Switches a mechanism off, or on in its `usual` way where the profile does not have it at all.
fn switch<T: PartialEq>(mechanism: &mut T, setting: Option<bool>, off: T, usual: T) {
    match setting {
        Some(false) => *mechanism = off,
        Some(true) if *mechanism == off => *mechanism = usual,
        _ => {}
    }
}

fn set_constants(config: &mut Config, settings: &TcpSettings) {
    set(&mut config.initial_window, settings.initial_window);
    set(&mut config.initial_rto, settings.initial_rto);
    set(&mut config.minimum_rto, settings.minimum_rto);
    set(&mut config.maximum_rto, settings.maximum_rto);
    set(&mut config.duplicate_threshold, settings.duplicate_threshold);
    set(&mut config.syn_retries, settings.syn_retries);
    set(&mut config.retransmission_limit, settings.retransmission_limit);
    if settings.initial_ssthresh.is_some() {
        config.initial_ssthresh = settings.initial_ssthresh;
    }
}

fn set_sizes(
    config: &mut Config,
    group: &str,
    settings: &TcpSettings,
) -> Result<(), SimulationError> {
    let too_large = |setting, value, largest| SimulationError::Setting {
        group: group.to_owned(),
        setting,
        value,
        largest,
    };
    // RFC 7323 §2.3: no window is larger than 1 GiB.
    let buffer = |setting, bytes: u64| {
        u32::try_from(bytes).ok().filter(|&bytes| bytes <= 1 << 30).ok_or(too_large(
            setting,
            bytes,
            1 << 30,
        ))
    };
    if let Some(bytes) = settings.mss {
        config.mss = u16::try_from(bytes.get())
            .map_err(|_| too_large("mss", bytes.get(), u64::from(u16::MAX)))?;
    }
    if let Some(bytes) = settings.send_buffer {
        config.set_send_buffer(buffer("send_buffer", bytes.get())?);
    }
    if let Some(bytes) = settings.receive_buffer {
        config.set_receive_window(buffer("receive_buffer", bytes.get())?);
    }
    Ok(())
}

fn set<T>(field: &mut T, setting: Option<T>) {
    if let Some(value) = setting {
        *field = value;
    }
}

#[cfg(test)]
mod tests;
