//! Getters for private state.

/// Defines one method per named field that returns a copy. So other modules read the state of a part, and only
/// its own module changes it.
macro_rules! getters {
    ($($(#[$doc:meta])* $field:ident: $kind:ty,)+) => {
        $(
            $(#[$doc])*
            pub(crate) fn $field(&self) -> $kind {
                self.$field
            }
        )+
    };
}
