//! What could be loaded, by the names that scenarios have.

use super::obstacle;
use std::collections::BTreeMap;

/// A congestion control compiled for a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlObject {
    /// The name that scenarios have for it.
    pub name: String,
    /// The name under which the kernel knows it: `.name` of its table.
    pub kernel_name: String,
    /// The compiled object; empty where there is none, so that it can only be used where it is loaded already.
    pub object: Vec<u8>,
}

impl ControlObject {
    /// The repository's algorithm of this name.
    pub fn built_in(name: &str) -> Option<Self> {
        Some(Self {
            name: name.to_owned(),
            kernel_name: fairwind_congestion::kernel_name_of(name)?,
            object: fairwind_congestion::object_of(name).unwrap_or_default().to_vec(),
        })
    }
}

/// Why the kernel cannot have a congestion control, and what comes near.
#[derive(Debug)]
pub struct Missing {
    /// What is missing.
    pub mechanism: String,
    /// What comes nearest.
    pub alternative: String,
}

/// Congestion controls that are loaded or can be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loadable {
    /// Kernels' names by those of scenarios.
    kernel_names: BTreeMap<String, String>,
    /// Which of them are only names: nothing was compiled.
    without_object: Vec<String>,
    /// Why none can be loaded.
    obstacle: Option<String>,
}

impl Loadable {
    /// The repository's and `others`, on this machine.
    pub fn here(others: &[ControlObject]) -> Self {
        let built_in = fairwind_congestion::names();
        let built_in = built_in.iter().filter_map(|name| ControlObject::built_in(name));
        let obstacle = obstacle().map(|obstacle| obstacle.to_string());
        let mut loadable = Self { obstacle, ..Self::default() };
        for control in built_in.chain(others.iter().cloned()) {
            if control.object.is_empty() {
                loadable.without_object.push(control.name.clone());
            }
            loadable.kernel_names.insert(control.name, control.kernel_name);
        }
        loadable
    }

    /// The kernel's name of the algorithm `name`, which is among `there` or can be loaded.
    pub fn kernel_name(
        &self,
        name: &str,
        is_there: impl Fn(&str) -> bool,
    ) -> Result<&str, Missing> {
        let Some(kernel_name) = self.kernel_names.get(name) else {
            return Err(Missing {
                mechanism: format!("there is no congestion control \"{name}\" in C"),
                alternative: format!("compile it first: fairwind congestion build {name}.c"),
            });
        };
        if is_there(kernel_name) {
            return Ok(kernel_name);
        }
        let mechanism = match &self.obstacle {
            Some(obstacle) => obstacle.clone(),
            None if self.without_object.iter().any(|one| one == name) => {
                "it was compiled for the simulator only".to_owned()
            }
            None => return Ok(kernel_name),
        };
        let alternative = format!(
            "as root: fairwind congestion load {name}; or run it in the simulator (--on sim)"
        );
        Err(Missing { mechanism, alternative })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loadable(obstacle: Option<&str>) -> Loadable {
        Loadable {
            kernel_names: [("mine".to_owned(), "fw_mine".to_owned())].into(),
            without_object: Vec::new(),
            obstacle: obstacle.map(str::to_owned),
        }
    }

    #[test]
    fn what_cannot_be_loaded_can_be_used_where_it_is_there() {
        let refused = loadable(Some("not root"));
        assert_eq!(refused.kernel_name("mine", |name| name == "fw_mine").ok(), Some("fw_mine"));
        let missing = refused.kernel_name("mine", |_| false).expect_err("it is not there");
        assert_eq!(missing.mechanism, "not root");
        assert_eq!(loadable(None).kernel_name("mine", |_| false).ok(), Some("fw_mine"));
    }

    #[test]
    fn what_nobody_has_compiled_is_to_be_compiled() {
        let missing = loadable(None).kernel_name("other", |_| true).expect_err("it is unknown");
        assert!(missing.alternative.contains("fairwind congestion build other.c"));
    }
}
