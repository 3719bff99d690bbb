//! Loading of eBPF objects into the kernel, and their removal.

use super::{ControlError, ControlObject, available, obstacle};
use fairwind_bpf::libbpf_log;
use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{
    AsRawLibbpf, MapCore, MapFlags, MapHandle, MapType, ObjectBuilder, libbpf_sys::bpf_insn,
};

/// Flag of a map that a link registers; the registration ends with the link's last descriptor (`BPF_F_LINK`).
const BELONGS_TO_LINK: u32 = 1 << 13;
/// The one key of a map of hooks.
const KEY: [u8; 4] = [0; 4];
/// Bytes of a congestion control's name (`TCP_CA_NAME_MAX`).
const NAME_BYTES: usize = 16;

/// Loads a congestion control into the running kernel, where it stays when this process ends.
pub(super) fn install(control: &ControlObject) -> Result<(), ControlError> {
    obstacle().map_or(Ok(()), Err)?;
    if available().contains(&control.kernel_name) {
        return Err(ControlError::Taken(control.kernel_name.clone()));
    }
    libbpf_log::capture();
    let refused = |error: &libbpf_rs::Error| ControlError::Refused {
        name: control.name.clone(),
        words: libbpf_log::describe(error),
    };
    let no_table = || ControlError::NoTable { name: control.name.clone() };
    if control.object.is_empty() {
        return Err(no_table());
    }
    let builder = ObjectBuilder::default().open_memory(&control.object);
    let mut open = builder.map_err(|error| refused(&error))?;
    for mut map in open.maps_mut() {
        if map.map_type() == MapType::StructOps {
            // So it stays without a file that stands for it.
            map.set_map_flags(map.map_flags() & !BELONGS_TO_LINK).map_err(|e| refused(&e))?;
        }
    }
    let mut object = open.load().map_err(|error| refused(&error))?;
    let mut tables = object.maps_mut().filter(|map| map.map_type() == MapType::StructOps);
    let mut table = tables.next().ok_or_else(no_table)?;
    let attached = table.attach_struct_ops();
    let mut link = attached.map_err(|error| ControlError::NotRegistered {
        name: control.name.clone(),
        kernel_name: control.kernel_name.clone(),
        words: libbpf_log::describe(&error),
    })?;
    link.disconnect();
    Ok(())
}

/// Removes a congestion control that was loaded by eBPF, by its name in the kernel. Connections that have it keep it.
pub(super) fn remove(kernel_name: &str) -> Result<(), ControlError> {
    obstacle().map_or(Ok(()), Err)?;
    let Some((_, map)) = registered().into_iter().find(|(name, _)| name == kernel_name) else {
        return Err(ControlError::NotLoaded { name: kernel_name.to_owned(), there: loaded()? });
    };
    map.delete(&KEY).map_err(|error| ControlError::Kept {
        name: kernel_name.to_owned(),
        reason: error.to_string(),
    })
}

/// A number that another object of the same instructions has, too, however it was built: FNV-1a of them.
pub(super) fn fingerprint(control: &ControlObject) -> Result<String, ControlError> {
    if control.object.is_empty() {
        return Err(ControlError::NoTable { name: control.name.clone() });
    }
    let open = ObjectBuilder::default().open_memory(&control.object);
    let open = open.map_err(|error| ControlError::Refused {
        name: control.name.clone(),
        words: libbpf_log::describe(&error),
    })?;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut note = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let mut places = Vec::new();
    for program in open.progs() {
        places.push(program.as_libbpf_object().as_ptr().addr());
        program.name().as_encoded_bytes().iter().for_each(|byte| note(*byte));
        for instruction in program.insns() {
            bytes_of(*instruction).into_iter().for_each(&mut note);
        }
    }
    // What its variables begin with, and the table, where programs stand by their places in our memory.
    for map in open.maps() {
        for word in map.initial_value().unwrap_or_default().chunks(size_of::<usize>()) {
            let program = |place: &usize| word == place.to_ne_bytes();
            match places.iter().position(program) {
                Some(number) => number.to_ne_bytes().into_iter().for_each(&mut note),
                None => word.iter().for_each(|byte| note(*byte)),
            }
        }
    }
    Ok(format!("{hash:016x}"))
}

fn bytes_of(instruction: bpf_insn) -> [u8; 8] {
    let [offset_low, offset_high] = instruction.off.to_le_bytes();
    let [first, second, third, fourth] = instruction.imm.to_le_bytes();
    let registers = instruction.dst_reg() | instruction.src_reg() << 4;
    [instruction.code, registers, offset_low, offset_high, first, second, third, fourth]
}

/// The number of the table that has this name in the kernel; `None` as well where this process may not look.
pub(super) fn table_number(kernel_name: &str) -> Option<u32> {
    let (_, map) = registered().into_iter().find(|(name, _)| name == kernel_name)?;
    map.info().ok().map(|info| info.info.id)
}

/// Names of the congestion controls that were loaded by eBPF and are there now, by the alphabet.
pub fn loaded() -> Result<Vec<String>, ControlError> {
    obstacle().map_or(Ok(()), Err)?;
    let mut names: Vec<String> = registered().into_iter().map(|(name, _)| name).collect();
    names.sort();
    Ok(names)
}

/// The maps of hooks of registered congestion controls.
fn registered() -> Vec<(String, MapHandle)> {
    let names = available();
    let maps = MapInfoIter::default().filter(|map| map.ty == MapType::StructOps);
    let handles = maps.filter_map(|map| MapHandle::from_map_id(map.id).ok());
    let control_of = |map: MapHandle| {
        let value = map.lookup(&KEY, MapFlags::ANY).ok().flatten()?;
        let name = names.iter().find(|name| is_in_use(&value) && has_name(&value, name))?;
        Some((name.clone(), map))
    };
    handles.filter_map(control_of).collect()
}

/// Whether a table is registered: one that was removed lingers while connections have it (`enum
/// bpf_struct_ops_state`, which stands behind the number of its users).
fn is_in_use(table: &[u8]) -> bool {
    table.get(4..8) == Some(&1_u32.to_ne_bytes())
}

/// Whether a table has this name: a field filled up with zeros, behind pointers that end in zeros.
fn has_name(table: &[u8], name: &str) -> bool {
    let mut field = [0; NAME_BYTES];
    let length = name.len().min(NAME_BYTES - 1);
    field[..length].copy_from_slice(&name.as_bytes()[..length]);
    table
        .chunks_exact(8)
        .zip(table.chunks_exact(8).skip(1))
        .any(|(first, second)| first == &field[..8] && second == &field[8..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_table_is_not_found() {
        let table = |state: u32| [7_u32.to_ne_bytes(), state.to_ne_bytes()].concat();
        assert_eq!([0, 1, 2, 3].map(|state| is_in_use(&table(state))), [false, true, false, false]);
        assert!(!is_in_use(&[]));
    }

    #[test]
    fn table_is_found_by_full_name() {
        let mut table = vec![0_u8; 96];
        table[88..].copy_from_slice(b"fw_renoX");
        table.extend(*b"\0\0\0\0\0\0\0\0");
        assert!(has_name(&table, "fw_renoX"));
        assert!(!has_name(&table, "fw_reno"));
        assert!(!has_name(&table, "renoX"));
    }
}
