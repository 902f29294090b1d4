//! Flags from text: `--name=value`, or `--name` for what is on or off, between spaces. Quotes keep
//! spaces together.

use std::fmt;

use crate::nearest::check_xla_option;
use crate::table::{Flags, ROWS};

/// A flag that was not taken as it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// As it was written.
    pub flag: String,
    pub mistake: Mistake,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// There is no such flag; one like it may be what was meant.
    Unknown(Option<&'static str>),
    /// The value is none of this type; what is wanted would be one.
    Value { value_type: &'static str, wanted: String },
    /// It does not begin with two dashes.
    NoFlag,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.mistake {
            Mistake::Unknown(nearest) => {
                write!(f, "unknown flag `{}` is ignored", self.flag)?;
                nearest.map_or(Ok(()), |name| write!(f, "; did you mean `--{name}`?"))
            }
            Mistake::Value { wanted, .. } => {
                write!(f, "flag `{}` is ignored: it takes {wanted}", self.flag)
            }
            Mistake::NoFlag => {
                write!(f, "`{}` is ignored: flags are written `--name=value`", self.flag)
            }
        }
    }
}

impl Flags {
    /// Sets what `text` says, as far as it can be understood.
    pub fn read(&mut self, text: &str) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for word in words(text) {
            let mistake = match word.strip_prefix("--") {
                None => Some(Mistake::NoFlag),
                Some(flag) => {
                    let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
                    self.set(name, value).err()
                }
            };
            warnings.extend(mistake.map(|mistake| Warning { flag: word, mistake }));
        }
        warnings
    }

    /// Sets one flag. An option of XLA's that means nothing here is as good as set.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Mistake> {
        match ROWS.iter().find(|row| row.name == name) {
            Some(row) => (row.set)(self, value)
                .map_err(|wanted| Mistake::Value { value_type: row.value_type, wanted }),
            None => check_xla_option(name, value),
        }
    }
}

/// What stands between spaces; quotes are taken off.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Area, Plant};

    #[test]
    fn flags_are_typed() {
        let mut flags = Flags::default();
        let text = "--xla_dump_to=/tmp/a  --xla_dump_hlo_as_text\n --xla_dump_hlo_as_proto=false \
                    '--xla_dump_hlo_pass_re=a b' --xla_disable_hlo_passes=cse,dce \
                    --xla_force_host_platform_device_count=8 --rxla_plant=reuse";
        assert_eq!(flags.read(text), []);
        assert_eq!(flags.xla_dump_to, "/tmp/a");
        assert!(flags.xla_dump_hlo_as_text && !flags.xla_dump_hlo_as_proto && flags.dumps());
        assert_eq!(flags.xla_dump_hlo_pass_re, "a b");
        assert_eq!(flags.xla_disable_hlo_passes, ["cse", "dce"]);
        assert_eq!(flags.xla_force_host_platform_device_count, 8);
        assert_eq!(flags.rxla_plant, Plant::Reuse);
        assert_eq!(
            flags.changed(|area| area == Area::Code),
            "xla_disable_hlo_passes=cse,dce\nrxla_plant=reuse\n"
        );
    }

    #[test]
    fn mistakes_are_warnings() {
        let mut flags = Flags::default();
        let text = "--xla_dumb_to=x --xla_dump_hlo_as_text=perhaps stray --xla_gpu_autotune_level=4 \
             --xla_gpu_autotune_level=high --xla_embed_ir_in_executable=x";
        let warnings: Vec<String> = flags.read(text).iter().map(Warning::to_string).collect();
        assert_eq!(
            warnings,
            [
                "unknown flag `--xla_dumb_to=x` is ignored; did you mean `--xla_dump_to`?",
                "flag `--xla_dump_hlo_as_text=perhaps` is ignored: it takes `true` or `false`",
                "`stray` is ignored: flags are written `--name=value`",
                "flag `--xla_gpu_autotune_level=high` is ignored: it takes a whole number",
                "flag `--xla_embed_ir_in_executable=x` is ignored: it takes `true` or `false`",
            ]
        );
        assert_eq!(flags, Flags::default());
    }

    /// Whatever the text, reading ends.
    #[test]
    fn any_text_is_read() {
        for text in ["", "--", "--=", "'", "\"--a", "--xla_dump_to", "-- --", "\u{0}--é=ü"] {
            Flags::default().read(text);
        }
    }
}
