//! Read access to private state.

/// Defines one method per named field that returns a copy of it, so that other modules read a part's state and
/// only its own module changes it.
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
