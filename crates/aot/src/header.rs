//! The header: what a program takes and gives, for people and for compilers of C and C++.

use std::fmt::Write;

use rxla_base::Code;
use rxla_cpu::Cpu;
use rxla_cpu::ahead::{Ahead, Source};
use rxla_hlo::{ArrayShape, ElementType};

use crate::wrapper::Names;

/// The text of the header of a program. `module` is what it was made from.
pub(crate) fn header(ahead: &Ahead, prefix: &str, names: &Names, module: &str, cpu: Cpu) -> String {
    let upper = prefix.to_ascii_uppercase();
    let target = ahead.compiler.target();
    let processor = match cpu {
        Cpu::Native => format!("{} and whatever has all that it has", target.cpu),
        Cpu::X86_64 | Cpu::X86_64V2 | Cpu::X86_64V3 | Cpu::X86_64V4 => target.cpu.clone(),
    };
    let mut out = String::new();
    let version = env!("CARGO_PKG_VERSION");
    let _ = write!(
        out,
        "/* Made by rxla {version} from `{}`. Do not edit.\n *\n * Code for {processor} ({}).\n */\n",
        comment(module),
        target.triple
    );
    let _ = write!(
        out,
        "#ifndef {upper}_H\n#define {upper}_H\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
    );
    let _ = writeln!(
        out,
        "/* Inputs: dense arrays, row-major, aligned for their elements. They are only read. */"
    );
    let _ = writeln!(out, "#define {upper}_INPUTS {}", ahead.inputs.len());
    for (number, input) in ahead.inputs.iter().enumerate() {
        let about = format!("{}: {}", comment(&input.name), kind(&input.shape));
        array(&mut out, &upper, "INPUT", number, &input.shape, &about);
    }
    let align = ahead.align;
    let _ = writeln!(
        out,
        "\n/* Outputs: dense arrays, row-major, aligned to {upper}_ALIGNMENT. They may overlap neither each\n * other nor inputs, but where it is said. */"
    );
    let _ = writeln!(out, "#define {upper}_OUTPUTS {}", ahead.outputs.len());
    for (number, output) in ahead.outputs.iter().enumerate() {
        let mut about = kind(&output.shape);
        match output.source {
            Source::Computed => {}
            Source::Updated(input) => {
                let _ =
                    write!(about, "; may be the memory of input {input}, which is then not copied");
            }
            Source::Input(input) => {
                let _ = write!(about, "; a copy of input {input}");
            }
        }
        array(&mut out, &upper, "OUTPUT", number, &output.shape, &about);
    }
    let _ = write!(
        out,
        "
/* Of outputs and the workspace. */
#define {upper}_ALIGNMENT {align}
/* Memory that a run uses; it may hold anything before, and means nothing after. */
#define {upper}_WORKSPACE_BYTES {}

#define {upper}_OK 0
/* An address is null or not aligned as it should be. */
#define {upper}_INVALID_ARGUMENT {}
#define {upper}_RESOURCE_EXHAUSTED {}
#define {upper}_INTERNAL {}

/* Runs the program: inputs and outputs are the addresses of the arrays above, in order; the workspace
 * may be null if it has no bytes. Returns 0 or one of the codes above. Runs may happen at once if each
 * has outputs and a workspace of its own. */
int {}(const void *const *inputs, void *const *outputs, void *workspace);

/* How many threads the runs share, the calling one included; 0, as at first: as many as there are
 * processors. Heard before the first run only. Results do not depend on it. */
void {}(int threads);

#ifdef __cplusplus
}}
#endif

#endif
",
        ahead.temp_bytes,
        Code::InvalidArgument as i32,
        Code::ResourceExhausted as i32,
        Code::Internal as i32,
        names.run,
        names.set_threads,
    );
    out
}

fn array(
    out: &mut String,
    upper: &str,
    what: &str,
    number: usize,
    shape: &ArrayShape,
    about: &str,
) {
    let bytes = shape.byte_size().unwrap_or(0);
    let elements = shape.element_count().unwrap_or(0);
    let _ = writeln!(out, "/* {about} */");
    let _ = writeln!(out, "#define {upper}_{what}_{number}_ELEMENTS {elements}");
    let _ = writeln!(out, "#define {upper}_{what}_{number}_BYTES {bytes}");
}

/// Such as `f32[2,3], in C float[2][3]`.
fn kind(shape: &ArrayShape) -> String {
    use ElementType::*;
    let element = match shape.element_type {
        Pred => "unsigned char (0 or 1)",
        S8 => "int8_t",
        S16 => "int16_t",
        S32 => "int32_t",
        S64 => "int64_t",
        U8 => "uint8_t",
        U16 => "uint16_t",
        U32 => "uint32_t",
        U64 => "uint64_t",
        F32 => "float",
        F64 => "double",
        C64 => "float _Complex",
        C128 => "double _Complex",
        F16 | Bf16 => "uint16_t (its bits)",
        S1 | S2 | S4 => "int8_t",
        U1 | U2 | U4 => "uint8_t",
        F8e5m2 | F8e4m3 | F8e4m3fn | F8e4m3b11fnuz | F8e3m4 | F8e5m2fnuz | F8e4m3fnuz
        | F8e8m0fnu | F6e3m2fn | F6e2m3fn | F4e2m1fn => "uint8_t (its bits)",
    };
    let dims: String = shape.dims.iter().map(|size| format!("[{size}]")).collect();
    let separator = if dims.is_empty() { "" } else { " " };
    format!("{shape}, in C {element}{separator}{dims}")
}

/// Text that ends no comment and begins no line.
fn comment(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(plain).collect::<String>().replace("*/", "* /").replace("/*", "/ *")
}

/// A name in C made of any text: `jit_f`, `_2layers`.
pub fn identifier(text: &str) -> String {
    let mut name: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_in_c() {
        for (text, name) in [
            ("model", "model"),
            ("jit_f.1", "jit_f_1"),
            ("2layers", "_2layers"),
            ("", "_"),
            ("ä-b", "__b"),
        ] {
            assert_eq!(identifier(text), name);
        }
    }

    #[test]
    fn comments_end_where_they_should() {
        assert_eq!(comment("a */ int x; /*\nb"), "a * / int x; / * b");
        let shape = ArrayShape::new(ElementType::F32, [2, 3]);
        assert_eq!(kind(&shape), "f32[2,3], in C float [2][3]");
        assert_eq!(
            kind(&ArrayShape::scalar(ElementType::Pred)),
            "pred[], in C unsigned char (0 or 1)"
        );
    }
}
