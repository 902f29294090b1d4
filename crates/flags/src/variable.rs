//! Flags as variables of the environment hold them, whose values others read.

use crate::Flags;

impl Flags {
    /// Takes the flags that a variable of this name and value holds. Returns what is wrong with
    /// them. As XLA has it, a value that is no flag is the name of a file of flags.
    pub fn read_variable(&mut self, variable: &str, value: &str) -> Vec<String> {
        let value = value.trim();
        let text = if value.is_empty() || value.starts_with("--") {
            Ok(value.to_owned())
        } else {
            std::fs::read_to_string(value)
        };
        match text {
            Ok(text) => {
                let mistakes = self.read(&text).into_iter();
                mistakes.map(|mistake| format!("{variable}: {mistake}")).collect()
            }
            Err(error) => vec![format!(
                "`{variable}` is neither flags nor a file that can be read: `{value}`: {error}"
            )],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_flags_or_a_file_of_flags() {
        let mut flags = Flags::default();
        assert_eq!(flags.read_variable("V", " --rxla_threads=2 "), Vec::<String>::new());
        assert_eq!(flags.rxla_threads, 2);
        let file = std::env::temp_dir().join(format!("rxla-flags-{}", std::process::id()));
        std::fs::write(&file, "--rxla_threads=3\n--rxla_nothing=1\n").unwrap();
        let mistakes = flags.read_variable("V", file.to_str().unwrap());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(flags.rxla_threads, 3);
        assert!(mistakes.len() == 1 && mistakes[0].starts_with("V: "), "{mistakes:?}");
        let mistakes = flags.read_variable("V", file.to_str().unwrap());
        assert!(mistakes[0].starts_with("`V` is neither flags nor a file"), "{mistakes:?}");
        assert_eq!(flags.read_variable("V", ""), Vec::<String>::new());
    }
}
