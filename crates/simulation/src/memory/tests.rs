use super::*;

#[test]
fn a_resumption_whose_end_was_told_is_not_told_to_end_again() {
    let step = |flow, phase: ResumptionPhase| Step {
        flow: FlowId(flow),
        at: Instant::ZERO,
        phase: phase.name(),
        reason: None,
        window: 10,
        saved: None,
    };
    let memories = Memories {
        hosts: Vec::new(),
        ends: Vec::new(),
        names: Vec::new(),
        opening: BTreeMap::new(),
        steps: vec![
            step(0, ResumptionPhase::Reconnaissance),
            step(1, ResumptionPhase::Reconnaissance),
            step(0, ResumptionPhase::Normal(ResumptionEnd::Closed)),
        ],
    };
    let told = [0, 1, 2].map(|flow| memories.is_told_as_over(FlowId(flow)));
    assert_eq!(told, [true, false, false]);
    for event in [Event::AllAcknowledged, Event::Reset, Event::TimedOut] {
        assert!(is_end(event), "{event:?}");
    }
    assert!(!is_end(Event::Resumption(ResumptionPhase::Reconnaissance)));
}
