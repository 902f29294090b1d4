//! `docs/flags.md`, made from the table.

use crate::table::ROWS;
use crate::{Area, Row};

/// The page. A test keeps the file as it is made here; `RXLA_BLESS=1` writes it.
pub fn markdown() -> String {
    let mut out = String::from(HEAD);
    for (title, about, belongs) in SECTIONS {
        let about = if about.is_empty() { String::new() } else { format!("{about}\n\n") };
        out.push_str(&format!(
            "\n## {title}\n\n{about}| flag | type | default | |\n|---|---|---|---|\n"
        ));
        for row in ROWS.iter().filter(|row| belongs(row)) {
            let default = match (row.default)() {
                text if text.is_empty() => "none".to_owned(),
                text => format!("`{text}`"),
            };
            let help = row.help.replace('|', "\\|");
            out.push_str(&format!(
                "| `--{}` | {} | {default} | {help} |\n",
                row.name, row.value_type
            ));
        }
    }
    out
}

const HEAD: &str = "\
# Flags

<!-- Made from the table in crates/flags/src/table.rs; do not edit. -->

Flags stand in two variables of the environment, for the plugin and for the command `rxla` alike:

* `XLA_FLAGS`: XLA's own. Those in the tables below work; the others that XLA has are let pass, since
  they mean nothing here. If the value does not begin with `--`, it names a file that holds the flags.
* `RXLA_FLAGS`: those of rxla, and all of XLA's; it is read second, so that it decides.

A flag is written `--name=value`, and one that is on or off also `--name`; flags stand between spaces.
An unknown flag gives a warning on standard error, once, with the name that is most like it, and never ends
anything. Only jaxlib, where it is in the process, reads `XLA_FLAGS` as well, and ends the process at a flag that it
does not know, just after rxla has warned of it; `RXLA_FLAGS` is ours alone.

One program can have flags of its own: what JAX calls `compiler_options`, as in
`jax.jit(f).lower(x).compile(compiler_options={\"xla_dump_to\": \"/tmp/f\"})`. They go before the variables. There, an
unknown name is an error, as it is with XLA.
";

const SECTIONS: &[(&str, &str, fn(&Row) -> bool)] = &[
    (
        "Of XLA: what is written",
        "Nothing of this changes what is compiled, and a file that cannot be written is a warning. \
         `docs/debugging.md` shows the files.",
        |row| row.area == Area::Reports && row.name.starts_with("xla_"),
    ),
    ("Of XLA: what is compiled", "", |row| row.area == Area::Code && row.name.starts_with("xla_")),
    ("Of XLA: clients", "", |row| row.area == Area::Client && row.name.starts_with("xla_")),
    ("Of rxla", "", |row| row.name.starts_with("rxla_")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_up_to_date() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/flags.md");
        let made = markdown();
        if std::env::var_os("RXLA_BLESS").is_some() {
            std::fs::write(&path, &made).expect("docs/flags.md can be written");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == made,
            "docs/flags.md is not what the table says; write it with RXLA_BLESS=1"
        );
    }

    #[test]
    fn every_flag_is_in_one_section() {
        for row in ROWS {
            let sections = SECTIONS.iter().filter(|(_, _, belongs)| belongs(row)).count();
            assert_eq!(sections, 1, "{}", row.name);
            assert!(row.help.ends_with('.'), "{}", row.name);
        }
    }
}
