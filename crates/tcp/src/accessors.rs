//! Getters for private state.

/// Defines one method per line that returns a copy of a private field, or a reference to it. The field has the
/// method's name, or is the one behind `=`. So other modules read the state of a part, and only its own module
/// changes it.
macro_rules! getters {
    (@field $this:ident, $name:ident) => { $this.$name };
    (@field $this:ident, $name:ident, $($field:ident).+) => { $this.$($field).+ };
    () => {};
    ($(#[$meta:meta])* $name:ident: &mut $kind:ty = $field:ident, $($rest:tt)*) => {
        $(#[$meta])*
        pub(crate) fn $name(&mut self) -> &mut $kind {
            &mut self.$field
        }
        getters! { $($rest)* }
    };
    ($(#[$meta:meta])* $name:ident: &$kind:ty $(= $($field:ident).+)?, $($rest:tt)*) => {
        $(#[$meta])*
        pub(crate) fn $name(&self) -> &$kind {
            &getters!(@field self, $name $(, $($field).+)?)
        }
        getters! { $($rest)* }
    };
    ($(#[$meta:meta])* $name:ident: $kind:ty $(= $($field:ident).+)?, $($rest:tt)*) => {
        $(#[$meta])*
        pub(crate) fn $name(&self) -> $kind {
            getters!(@field self, $name $(, $($field).+)?)
        }
        getters! { $($rest)* }
    };
}

/// Defines one public method per line, which asks a part.
macro_rules! delegates {
    ($($(#[$meta:meta])* $name:ident: $kind:ty = $part:ident$(.$method:ident())+,)+) => {
        $(
            $(#[$meta])*
            pub fn $name(&self) -> $kind {
                self.$part$(.$method())+
            }
        )+
    };
}
