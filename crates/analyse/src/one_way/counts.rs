//! What is counted of one direction between two taps.

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Counters of one passage, or sums of them over a group.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct OneWayCounts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl OneWayCounts {
            /// Adds the counters of another passage.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counts! {
    /// Packets that departed.
    packets_sent,
    /// Packets that arrived, copies included.
    packets_received,
    /// Departures of which nothing arrived.
    packets_lost,
    /// Departures that were cut on the way, and of which a part arrived and a part was lost.
    packets_partly_lost,
    /// Departures of which nothing had arrived when nobody watched any more.
    packets_unjudged,
    /// Arrivals of packets that had arrived before.
    packets_duplicated,
    /// Arrivals whose departure is not in the sender's capture.
    packets_departure_unseen,
    /// Departures that arrived in more than one packet, or part by part.
    packets_cut,
    /// Arrivals that hold more than one departure.
    packets_merged,
    /// Departures with payload.
    data_packets_sent,
    /// Arrivals with payload.
    data_packets_received,
    /// Departures without payload.
    ack_packets_sent,
    /// Of these, those that did not arrive.
    ack_packets_lost,
    /// Bytes on the link of all departures.
    wire_bytes_sent,
    /// Bytes on the link of lost packets, or of the lost ones of those that a departure was cut into.
    wire_bytes_lost,
    /// Payload bytes of all departures.
    payload_bytes_sent,
    /// Payload bytes of all arrivals.
    payload_bytes_received,
    /// Payload bytes of departures that arrived.
    payload_bytes_matched,
    /// Payload bytes of departures that did not arrive.
    payload_bytes_lost,
    /// Payload bytes that had not arrived when nobody watched any more.
    payload_bytes_unjudged,
    /// Payload bytes of arrivals that had arrived before: copies that the network made.
    payload_bytes_duplicated,
    /// Payload bytes of arrivals whose departure is not in the sender's capture.
    payload_bytes_departure_unseen,
    /// Bytes that the receiver acknowledged, though the receiver's capture does not have them.
    payload_bytes_arrival_unseen,
    /// Stretches of departures that arrived in one packet each.
    ranges_received,
    /// Stretches of departures that did not arrive.
    ranges_lost,
    /// Stretches of departures of which nobody can know.
    ranges_unjudged,
    /// Departures that carried old bytes before new ones.
    bundles_sent,
    /// Bundles lost.
    bundles_lost,
    /// Bundles of which old bytes came by them first.
    bundle_hits,
    /// Bundles that arrived when all their old bytes had.
    bundle_misses,
    /// Old bytes in bundles.
    bundled_bytes_sent,
    /// Old bytes in bundles that came by them first.
    bundled_bytes_hit,
    /// Old bytes in bundles that arrived when they had arrived before.
    bundled_bytes_missed,
    /// Bytes that had been sent before, in any packet.
    redundant_bytes_sent,
}
