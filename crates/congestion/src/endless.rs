//! Loops without an end in which nothing happens: compilers leave nothing in them that could be counted.

/// Finds the function that has such a loop in what a compiler has made of a source: a jump to itself.
///
/// Whatever a loop does is announced there (`native/watched.h`), and ends a hook that does it for ever; loops of nothing
/// become this one jump, in whatever way they were written.
pub(crate) fn function_of(assembly: &str) -> Option<&str> {
    let mut function = "";
    let mut labels = Vec::new();
    for line in assembly.lines() {
        let code = without_remark(line).trim();
        if let Some(label) = code.strip_suffix(':') {
            if !label.starts_with('.') {
                function = label;
            }
            labels.push(label);
        } else if !code.is_empty() && !code.starts_with('.') {
            if jump_target(code).is_some_and(|target| labels.contains(&target)) {
                return Some(name_of(function));
            }
            labels.clear();
        }
    }
    None
}

/// Remarks begin with `#` on x86 and with `//` on Arm.
fn without_remark(line: &str) -> &str {
    let end = [line.find('#'), line.find("//")].into_iter().flatten().min();
    end.map_or(line, |end| &line[..end])
}

/// Where an unconditional jump of x86 (`jmp`) or Arm (`b`) leads.
fn jump_target(code: &str) -> Option<&str> {
    let mut words = code.split_whitespace();
    matches!(words.next(), Some("jmp" | "b")).then(|| words.next()).flatten()
}

/// The name in the source: `BPF_PROG` puts underscores before it, compilers what they have made of it behind a dot.
fn name_of(label: &str) -> &str {
    label.trim_start_matches('_').split('.').next().unwrap_or(label)
}

#[cfg(test)]
mod tests {
    use super::function_of;

    #[test]
    fn a_jump_to_itself_is_found_with_its_function() {
        let loops = "f:\n.LFB0:\n\tcall\tstep@PLT\n.L3:\n\t.loc 1 2 3\n\tjmp\t.L3\n";
        assert_eq!(function_of(loops), Some("f"));
        assert_eq!(function_of("f: # @f\n.L3: # Loop\n\tjmp .L3 # again\n"), Some("f"));
        let on_arm = "____g.part.0: // @g\n\tbl\tstep\n.L2:\t// Loop\n\t.p2align 4\n\tb\t.L2\n";
        assert_eq!(function_of(on_arm), Some("g"));
    }

    #[test]
    fn loops_that_do_something_and_jumps_elsewhere_are_none() {
        assert_eq!(function_of("f:\n.L3:\n\tcall\tstep@PLT\n\tjmp\t.L3\n"), None);
        assert_eq!(function_of("f:\n.L3:\n\tjmp\t.L4\n.L4:\n\tjne\t.L4\n\tjmp\tg\n"), None);
    }
}
