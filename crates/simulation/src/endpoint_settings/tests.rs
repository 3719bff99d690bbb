use super::config;
use fairwind_scenario::{
    self as scenario, Document, LossDetection as Detection, Profile, TcpSettings,
    WindowReduction as Reduction, Workload,
};
use fairwind_tcp::{
    BundlingStreams, Config, CongestionAlgorithm, EarlyRetransmit, Factor, LossDetection,
    LostRetransmissions, RecoveryConstants, RedundantBundling, SmartFraming, TailLossProbe,
    ThinRecovery, ThinStreams, WindowReduction,
};
use fairwind_units::{ByteCount, Ratio, Span};

/// Any workload; mechanisms of repair do not depend on it.
fn greedy() -> Workload {
    let text = "name = \"one\"\nduration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"100 ms\"\n\
                [[flows]]\nname = \"greedy\"\nworkload = { kind = \"greedy\" }\n";
    let plan = Document::parse("test", text).unwrap().plan().unwrap();
    plan.cells[0].experiment.flows[0].workload.clone()
}

fn with(profile: Profile, settings: &TcpSettings) -> Config {
    let settings = TcpSettings { profile: Some(profile), ..*settings };
    config("group", &settings, &greedy(), &[]).unwrap()
}

/// Asserts that `found` has `on` with the switch on, and `off` with it off, in every profile that repairs.
fn switches<T: PartialEq + std::fmt::Debug>(
    set: fn(&mut TcpSettings, bool),
    found: fn(&Config) -> T,
    profile: Profile,
    (off, on): (T, T),
) {
    for (is_on, expected) in [(false, off), (true, on)] {
        let mut settings = TcpSettings::default();
        set(&mut settings, is_on);
        assert_eq!(found(&with(profile, &settings)), expected, "{settings:?}");
    }
}

#[test]
fn each_recovery_key_switches_its_mechanism() {
    for profile in [Profile::Rfc, Profile::Linux2_6, Profile::Linux3_16, Profile::Linux6_18] {
        let plain = (false, true);
        let mfr = |config: &Config| config.modified_fast_retransmit;
        switches(|it, on| it.modified_fast_retransmit = Some(on), mfr, profile, plain);
        switches(|it, on| it.linear_timeouts = Some(on), |it| it.linear_timeouts, profile, plain);
        switches(|it, on| it.forward_rto = Some(on), |it| it.loss.forward_rto, profile, plain);
        switches(|it, on| it.undo = Some(on), |it| it.loss.undo, profile, plain);
        let probes = |config: &Config| config.loss.tail_loss_probe != TailLossProbe::Off;
        switches(|it, on| it.tail_loss_probe = Some(on), probes, profile, plain);
        let early = |config: &Config| config.loss.early_retransmit != EarlyRetransmit::Off;
        switches(|it, on| it.early_retransmit = Some(on), early, profile, plain);
        let repairs =
            |config: &Config| config.loss.lost_retransmissions == LostRetransmissions::ByReach;
        switches(|it, on| it.lost_retransmission_detection = Some(on), repairs, profile, plain);
        let bundles = (None, Some(RedundantBundling::USUAL));
        let redundancy = |config: &Config| config.sending.redundancy;
        switches(|it, on| it.redundant_bundling = Some(on), redundancy, profile, bundles);
        let frames = (None, Some(SmartFraming::USUAL));
        switches(|it, on| it.smart_framing = Some(on), |it| it.sending.framing, profile, frames);
    }
}

#[test]
fn keys_set_loss_detection_and_window_reduction() {
    let pairs = [
        (Detection::Rack, LossDetection::Rack),
        (Detection::Rfc6675, LossDetection::Rfc6675),
        (Detection::Forward, LossDetection::Fack),
    ];
    for (key, expected) in pairs {
        let settings = TcpSettings { loss_detection: Some(key), ..TcpSettings::default() };
        assert_eq!(with(Profile::Linux3_16, &settings).loss.detection, expected);
    }
    let pairs = [
        (Reduction::AtOnce, WindowReduction::Immediate),
        (Reduction::RateHalving, WindowReduction::RateHalving),
        (Reduction::Proportional, WindowReduction::Proportional),
        (Reduction::ProportionalSafe, WindowReduction::ProportionalSafe),
    ];
    for (key, expected) in pairs {
        let settings = TcpSettings { window_reduction: Some(key), ..TcpSettings::default() };
        assert_eq!(with(Profile::Linux3_16, &settings).loss.reduction, expected);
    }
}

/// Scenarios are warned by what the room of scenarios knows of profiles.
#[test]
fn profiles_with_rack_are_known() {
    let profiles = [
        Profile::Rfc,
        Profile::Linux2_6,
        Profile::Linux3_16,
        Profile::Linux6_18,
        Profile::FreeBsd5_4,
        Profile::FreeBsd14,
    ];
    let said = [None, Some(Detection::Rack), Some(Detection::Rfc6675), Some(Detection::Forward)];
    for profile in profiles {
        for loss_detection in said {
            for sack in [None, Some(false)] {
                let profile = Some(profile);
                let settings = TcpSettings { profile, loss_detection, sack, ..Default::default() };
                let config = config("group", &settings, &greedy(), &[]).unwrap();
                let by_time = config.sack && config.loss.detection == LossDetection::Rack;
                assert_eq!(settings.finds_losses_by_time(), by_time, "{settings:?}");
            }
        }
    }
}

/// `tcp_early_retrans` 3 and 0 of Linux 3.16, and what a profile without it gets.
#[test]
fn early_retransmit_comes_from_profile() {
    let of = |profile, early_retransmit, tail_loss_probe| {
        let settings = TcpSettings { early_retransmit, tail_loss_probe, ..TcpSettings::default() };
        let loss = with(profile, &settings).loss;
        (loss.early_retransmit, loss.tail_loss_probe)
    };
    let three = (EarlyRetransmit::Delayed, TailLossProbe::Linux3_10);
    assert_eq!(of(Profile::Linux3_16, None, None), three);
    assert_eq!(of(Profile::Linux3_16, Some(true), Some(true)), three);
    let zero = (EarlyRetransmit::Off, TailLossProbe::Off);
    assert_eq!(of(Profile::Linux3_16, Some(false), Some(false)), zero);
    let immediate = (EarlyRetransmit::Immediate, TailLossProbe::Rfc8985);
    assert_eq!(of(Profile::Linux6_18, Some(true), None), immediate);
}

#[test]
fn keys_set_bundle_bounds() {
    let settings = TcpSettings {
        redundant_bundling: Some(true),
        redundant_segments: Some(3),
        redundant_bytes: Some(ByteCount::new(700)),
        redundant_interval: Some(Span::from_millis(20)),
        redundant_streams: Some(scenario::BundlingStreams::Thin),
        ..TcpSettings::default()
    };
    let rule = RedundantBundling {
        max_bytes: Some(700),
        max_segments: Some(3),
        streams: BundlingStreams::Thin,
        min_interval: Span::from_millis(20),
    };
    let bundles = |settings: TcpSettings| with(Profile::Linux3_16, &settings).sending.redundancy;
    assert_eq!(bundles(settings), Some(rule));
    let unbounded = scenario::TcpSettings { redundant_segments: Some(0), ..settings };
    assert_eq!(bundles(unbounded), Some(RedundantBundling { max_segments: None, ..rule }));
    assert_eq!(bundles(TcpSettings { redundant_bundling: None, ..settings }), None);
}

#[test]
fn keys_set_recovery_constants() {
    let times = |times: f64| serde_json::from_value(serde_json::json!(times)).unwrap();
    let percent = |percent: u64| Ratio::from_parts_per_billion(percent * 10_000_000);
    let settings = TcpSettings {
        backoff_factor: Some(times(1.5)),
        probe_factor: Some(times(1.25)),
        probe_ack_delay: Some(Span::from_millis(25)),
        reordering_window: Some(percent(10)),
        ..TcpSettings::default()
    };
    let expected = RecoveryConstants {
        backoff_factor: Factor::from_ratio(percent(150)),
        probe_factor: Factor::from_ratio(percent(125)),
        probe_ack_delay: Some(Span::from_millis(25)),
        reordering_window: Factor::from_ratio(percent(10)),
    };
    let all = with(Profile::Linux6_18, &settings);
    assert_eq!((all.loss.constants, all.thin.constants), (expected, None));
    let constants_for = Some(scenario::ConstantsFor::Thin);
    let thin = with(Profile::Linux6_18, &TcpSettings { constants_for, ..settings });
    let found = (thin.loss.constants, thin.thin.constants);
    assert_eq!(found, (RecoveryConstants::RFC, Some(expected)));
}

#[test]
fn keys_set_limits_of_thin_streams() {
    let settings = TcpSettings {
        linear_retries: Some(3),
        thin_duplicate_threshold: Some(2),
        thin_segments: Some(8),
        reordering_window_grows: Some(false),
        rack_duplicate_threshold: Some(false),
        ..TcpSettings::default()
    };
    let config = with(Profile::Linux6_18, &settings);
    let streams = ThinStreams::FewOutstanding { below: 8 };
    let expected =
        ThinRecovery { streams, linear_retries: 3, duplicate_threshold: 2, constants: None };
    assert_eq!(config.thin, expected);
    assert!(!config.loss.rack_adapts && !config.loss.rack_duplicate_threshold);
    for (definition, streams) in [
        (scenario::ThinDefinition::FewOutstanding, ThinStreams::FewOutstanding { below: 4 }),
        (scenario::ThinDefinition::ApplicationLimited, ThinStreams::ApplicationLimited),
        (scenario::ThinDefinition::All, ThinStreams::All),
    ] {
        let thin_definition = Some(definition);
        let settings = TcpSettings { thin_definition, ..TcpSettings::default() };
        assert_eq!(with(Profile::Rfc, &settings).thin.streams, streams);
    }
}

/// Scenarios are warned by what the room of scenarios knows of profiles.
#[test]
fn early_repairs_and_probes_of_profiles_are_known() {
    for profile in [
        Profile::Rfc,
        Profile::Linux2_6,
        Profile::Linux3_16,
        Profile::Linux6_18,
        Profile::Linux7_3,
        Profile::FreeBsd5_4,
        Profile::FreeBsd14,
    ] {
        let settings = TcpSettings { profile: Some(profile), ..TcpSettings::default() };
        let loss = with(profile, &settings).loss;
        let repairs = loss.early_retransmit != EarlyRetransmit::Off;
        assert_eq!(settings.retransmits_early(), repairs, "{settings:?}");
        assert_eq!(settings.probes_tails(), loss.tail_loss_probe != TailLossProbe::Off);
    }
}

#[test]
fn early_retransmit_delay_of_zero_is_none() {
    let of = |profile, share: u64, early_retransmit| {
        let early_retransmit_delay = Some(Ratio::from_parts_per_billion(share * 10_000_000));
        let settings =
            TcpSettings { early_retransmit, early_retransmit_delay, ..TcpSettings::default() };
        let loss = with(profile, &settings).loss;
        assert_eq!(loss.early_retransmit_delay.of(Span::from_secs(100)), Span::from_secs(share));
        loss.early_retransmit
    };
    assert_eq!(of(Profile::Linux3_16, 0, None), EarlyRetransmit::Immediate);
    assert_eq!(of(Profile::Linux3_16, 40, None), EarlyRetransmit::Delayed);
    assert_eq!(of(Profile::Linux6_18, 40, Some(true)), EarlyRetransmit::Delayed);
    assert_eq!(of(Profile::Linux6_18, 40, None), EarlyRetransmit::Off);
}

#[test]
fn scenario_knows_all_repository_congestion_controls() {
    let own = scenario::Congestion::OWN;
    let own = own.iter().map(|own| own.name().to_owned());
    let there: Vec<String> = own.chain(fairwind_congestion::names()).collect();
    let known: Vec<&str> = scenario::Congestion::known().collect();
    assert_eq!(known, there);
    for name in known {
        let congestion = Some(name.parse().unwrap());
        let settings = TcpSettings { congestion, ..TcpSettings::default() };
        let config = config("group", &settings, &greedy(), &[]).unwrap();
        if let CongestionAlgorithm::Plugged(algorithm) = config.congestion {
            assert_eq!(algorithm.0.name(), name);
        }
    }
}

#[test]
fn unknown_congestion_control_is_refused_by_name() {
    let congestion = Some("zephyr".parse().unwrap());
    let settings = TcpSettings { congestion, ..TcpSettings::default() };
    let error = config("group", &settings, &greedy(), &[]).unwrap_err().to_string();
    assert!(
        error.starts_with("group \"group\": there is no congestion control \"zephyr\""),
        "{error}"
    );
}
