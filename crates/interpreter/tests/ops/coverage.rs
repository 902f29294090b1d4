//! Which op takes which element type: what the verifier accepts must run, and `docs/ops.md` says
//! so. `RXLA_BLESS=1` writes that page.

use std::fmt::Write;
use std::path::Path;

use rxla_hlo::text::{ParseOptions, parse};
use rxla_hlo::{ElementType, Op};
use rxla_interpreter::{Options, evaluate_spmd};

/// Computations that examples call, for the type `T`.
const COMPUTATIONS: &str = "
add { a = T[] parameter(0)  b = T[] parameter(1)  ROOT r = T[] add(a, b) }
pick { a = T[] parameter(0)  ROOT b = T[] parameter(1) }
id { ROOT a = T[] parameter(0) }
eq { a = T[] parameter(0)  b = T[] parameter(1)  ROOT r = pred[] compare(a, b), direction=EQ }
lt { a = T[] parameter(0)  b = T[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
step { s = (s32[], T[]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = T[] get-tuple-element(s), index=1  o = s32[] constant(1)  j = s32[] add(i, o)  ROOT t = (s32[], T[]) tuple(j, x) }
more { s = (s32[], T[]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)  ROOT r = pred[] compare(i, n), direction=LT }
carry { x = T[] parameter(0)  c = T[] parameter(1)  ROOT t = (T[], T[]) tuple(x, c) }
";

/// What every example may use: values of the type `T` in several shapes, and numbers.
const VALUES: &str = "
i = s32[2] constant({0,1})  is = s32[] constant(1)  zero = s32[] constant(0)  yes = pred[] constant(true)  token = token[] after-all()
n = s32[2] constant({1,0})  v = T[2] convert(n)  w = T[2] reverse(v), dimensions={0}  m = T[2,2] broadcast(v), dimensions={1}
v1 = T[1] slice(v), slice={[0:1]}  x = T[] reshape(v1)  y1 = T[1] slice(v), slice={[1:2]}  y = T[] reshape(y1)
";

/// One example per opcode; `T` is the element type, `R` the type of its real part and `C` the
/// complex type of such parts. Examples of elementwise ops follow from their number of operands.
const EXAMPLES: &[(&str, &str)] = &[
    ("abs", "R[2] abs(v)"),
    ("add-dependency", "T[2] add-dependency(v, token)"),
    ("after-all", "token[] after-all(token)"),
    ("all-gather", "T[2] all-gather(v), dimensions={0}"),
    ("all-gather-done", "T[2] all-gather-done(s)"),
    ("all-gather-start", "(T[2], T[2]) all-gather-start(v), dimensions={0}"),
    ("all-reduce", "T[2] all-reduce(v), to_apply=add"),
    ("all-reduce-done", "T[2] all-reduce-done(s)"),
    ("all-reduce-start", "T[2] all-reduce-start(v), to_apply=add"),
    ("all-to-all", "T[2] all-to-all(v), dimensions={0}"),
    ("async-done", "T[] async-done(s)"),
    ("async-start", "((T[]), T[], u32[]) async-start(x), calls=id"),
    ("async-update", "((T[]), T[], u32[]) async-update(s)"),
    (
        "batch-norm-grad",
        "(T[2,2], T[2], T[2]) batch-norm-grad(m, v, v, w, m), epsilon=1, feature_index=1",
    ),
    (
        "batch-norm-inference",
        "T[2,2] batch-norm-inference(m, v, v, v, w), epsilon=1, feature_index=1",
    ),
    (
        "batch-norm-training",
        "(T[2,2], T[2], T[2]) batch-norm-training(m, v, v), epsilon=1, feature_index=1",
    ),
    ("bitcast", "T[2] bitcast(v)"),
    ("bitcast-convert", "T[2] bitcast-convert(v)"),
    ("broadcast", "T[2,2] broadcast(v), dimensions={0}"),
    ("call", "T[] call(x), to_apply=id"),
    ("cholesky", "T[1,1] cholesky(a), lower=true"),
    ("clamp", "T[2] clamp(x, v, y)"),
    ("collective-broadcast", "T[2] collective-broadcast(v), replica_groups={{0}}"),
    ("collective-permute", "T[2] collective-permute(v), source_target_pairs={{0,0}}"),
    ("collective-permute-done", "T[2] collective-permute-done(s)"),
    (
        "collective-permute-start",
        "(T[2], T[2], u32[], u32[]) collective-permute-start(v), source_target_pairs={{0,0}}",
    ),
    ("compare", "pred[2] compare(v, w), direction=LT"),
    ("complex", "C[2] complex(v, w)"),
    ("concatenate", "T[4] concatenate(v, w), dimensions={0}"),
    ("conditional", "T[] conditional(yes, x, y), true_computation=id, false_computation=id"),
    ("constant", "T[] constant(1)"),
    ("convert", "T[2] convert(i)"),
    ("convolution", "T[1,2,1] convolution(b, b), window={size=2 pad=0_1}, dim_labels=b0f_i0o->b0f"),
    ("copy", "T[2] copy(v)"),
    ("copy-done", "T[2] copy-done(s)"),
    ("copy-start", "(T[2], T[2], u32[]) copy-start(v)"),
    ("custom-call", "T[2] custom-call(v), custom_call_target=\"Sharding\""),
    ("domain", "T[2] domain(v), domain={kind=\"sharding\", entry={replicated}, exit={replicated}}"),
    ("dot", "T[2] dot(m, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
    ("dynamic-reshape", "T[2,<=1] dynamic-reshape(v, two, is)"),
    ("dynamic-slice", "T[1] dynamic-slice(v, is), dynamic_slice_sizes={1}"),
    ("dynamic-update-slice", "T[2] dynamic-update-slice(v, v1, is)"),
    ("fft", "C[2] fft(c), fft_type=FFT, fft_length={2}"),
    ("fusion", "T[] fusion(x), kind=kLoop, calls=id"),
    (
        "gather",
        "T[2] gather(v, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
    ),
    ("get-dimension-size", "s32[] get-dimension-size(v), dimensions={0}"),
    ("get-tuple-element", "T[2] get-tuple-element(s), index=0"),
    ("imag", "R[2] imag(v)"),
    ("iota", "T[2] iota(), iota_dimension=0"),
    ("is-finite", "pred[2] is-finite(v)"),
    ("map", "T[2] map(v), dimensions={0}, to_apply=id"),
    ("opt-barrier", "T[2] opt-barrier(v)"),
    ("pad", "T[4] pad(v, x), padding=1_0_1"),
    ("parameter", "T[2] parameter(0)"),
    ("partition-id", "u32[] partition-id()"),
    ("ragged-all-to-all", "T[2] ragged-all-to-all(v, w, z1, o1, z1, o1), replica_groups={{0}}"),
    (
        "ragged-dot",
        "T[2,1] ragged-dot(m, g, two1), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
    ),
    ("real", "R[2] real(v)"),
    ("recv", "(T[2], u32[], token[]) recv(token), channel_id=1"),
    ("recv-done", "(T[2], token[]) recv-done(s), channel_id=1"),
    ("reduce", "T[] reduce(v, x), dimensions={0}, to_apply=add"),
    ("reduce-precision", "T[2] reduce-precision(v), exponent_bits=3, mantissa_bits=2"),
    ("reduce-scatter", "T[2] reduce-scatter(v), dimensions={0}, to_apply=add"),
    ("reduce-window", "T[2] reduce-window(v, x), window={size=2 pad=1_0}, to_apply=add"),
    ("replica-id", "u32[] replica-id()"),
    ("reshape", "T[1,2] reshape(v)"),
    ("reverse", "T[2] reverse(v), dimensions={0}"),
    ("rng", "T[2] rng(y, x), distribution=rng_uniform"),
    ("rng-bit-generator", "(u64[2], T[2]) rng-bit-generator(u), algorithm=rng_philox"),
    ("rng-get-and-update-state", "u64[2] rng-get-and-update-state(), delta=1"),
    (
        "scaled-dot",
        "T[2] scaled-dot(m, v, one, one), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ),
    ("scan", "(T[2], T[]) scan(v, x), dimensions={0}, num_carries=1, to_apply=carry"),
    (
        "scatter",
        "T[2] scatter(v, i, w), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=pick",
    ),
    ("select", "T[2] select(yes, v, w)"),
    (
        "select-and-scatter",
        "T[2] select-and-scatter(v, v1, x), window={size=2}, select=eq, scatter=add",
    ),
    ("send", "(T[2], u32[], token[]) send(v, token), channel_id=1"),
    ("send-done", "token[] send-done(s), channel_id=1"),
    ("set-dimension-size", "T[<=2] set-dimension-size(v, is), dimensions={0}"),
    ("slice", "T[1] slice(v), slice={[1:2]}"),
    ("sort", "T[2] sort(v), dimensions={0}, to_apply=lt"),
    ("stochastic-convert", "s8[2] stochastic-convert(v, bits)"),
    ("topk", "(T[1], s32[1]) topk(v), k=1, largest=true"),
    ("transpose", "T[2,2] transpose(m), dimensions={1,0}"),
    (
        "triangular-solve",
        "T[1,1] triangular-solve(a, a), left_side=true, lower=true, transpose_a=NO_TRANSPOSE",
    ),
    ("tuple", "(T[2], T[2]) tuple(v, w)"),
    ("while", "(s32[], T[]) while(s), condition=more, body=step"),
];

/// Values that only some examples use, named there.
const PREPARED: &[(&str, &str)] = &[
    ("all-gather-done", "s = (T[2], T[2]) all-gather-start(v), dimensions={0}"),
    ("all-reduce-done", "s = T[2] all-reduce-start(v), to_apply=add"),
    ("async-done", "s = ((T[]), T[], u32[]) async-start(x), calls=id"),
    ("async-update", "s = ((T[]), T[], u32[]) async-start(x), calls=id"),
    ("cholesky", "a = T[1,1] reshape(v1)"),
    ("triangular-solve", "a = T[1,1] reshape(v1)"),
    (
        "collective-permute-done",
        "s = (T[2], T[2], u32[], u32[]) collective-permute-start(v), source_target_pairs={{0,0}}",
    ),
    ("convolution", "b = T[1,2,1] reshape(v)"),
    ("copy-done", "s = (T[2], T[2], u32[]) copy-start(v)"),
    ("dynamic-reshape", "two = s32[] constant(2)"),
    ("fft", "c = C[2] convert(v)"),
    ("get-tuple-element", "s = (T[2]) tuple(v)"),
    ("ragged-all-to-all", "z1 = s32[1] constant({0})  o1 = s32[1] constant({1})"),
    ("ragged-dot", "two1 = s32[1] constant({2})  g = T[1,2,1] reshape(v)"),
    (
        "recv-done",
        "t = (T[2], u32[], token[]) send(v, token), channel_id=1  td = token[] send-done(t), channel_id=1  s = (T[2], u32[], token[]) recv(token), channel_id=1",
    ),
    ("rng-bit-generator", "u = u64[2] constant({1,2})"),
    ("scaled-dot", "one = T[] constant(1)"),
    ("send-done", "s = (T[2], u32[], token[]) send(v, token), channel_id=1"),
    ("stochastic-convert", "bits = U[2] constant({1,2})"),
    ("while", "s = (s32[], T[]) tuple(zero, x)"),
];

/// Ops that exchange values with a host, which a test of its own provides.
const HOST: &[&str] = &["infeed", "outfeed"];

fn replaced(text: &str, element_type: ElementType) -> String {
    let real = element_type.real_part();
    let complex = real.complex_of().unwrap_or(ElementType::C64);
    let unsigned = match element_type.bit_width() {
        ..=8 => "u8",
        16 => "u16",
        32 => "u32",
        _ => "u64",
    };
    let mut out = text.to_owned();
    for (letter, name) in
        [("T[", element_type.name()), ("R[", real.name()), ("C[", complex.name()), ("U[", unsigned)]
    {
        for before in [" ", "("] {
            out = out.replace(&format!("{before}{letter}"), &format!("{before}{name}["));
        }
    }
    out
}

fn example(op: &str, element_type: ElementType) -> Option<String> {
    let body = match EXAMPLES.iter().find(|(name, _)| *name == op) {
        Some((_, body)) => (*body).to_owned(),
        None => match Op::from_name(op)?.arity() {
            rxla_hlo::op::Arity::Exactly(1) => format!("T[2] {op}(v)"),
            rxla_hlo::op::Arity::Exactly(2) => format!("T[2] {op}(v, w)"),
            _ => return None,
        },
    };
    let prepared = PREPARED.iter().find(|(name, _)| *name == op).map_or("", |(_, text)| text);
    // The other computations would have to be valid for the type too: only those that are called.
    let computations: String = COMPUTATIONS
        .lines()
        .filter(|line| {
            let name = line.split(' ').next().unwrap_or_default();
            ["to_apply", "calls", "true_computation", "condition", "body", "select", "scatter"]
                .iter()
                .any(|key| {
                    let call = format!("{key}={name}");
                    [&body, prepared].iter().any(|text| {
                        text.ends_with(&call)
                            || text.contains(&format!("{call},"))
                            || text.contains(&format!("{call} "))
                    })
                })
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let values = if op == "parameter" { "" } else { VALUES };
    let text = format!(
        "HloModule m\n{computations}ENTRY e {{\n{values}\n{prepared}\nROOT r = {body}\n}}\n"
    );
    Some(replaced(&text, element_type))
}

/// `✓` if it runs, `–` if verifier or interpreter say that the op is not defined for the type, `○` if
/// it is not built yet, else the error.
fn try_out(op: &str, element_type: ElementType) -> Result<&'static str, String> {
    let Some(text) = example(op, element_type) else {
        return Err(format!("`{op}` has no example"));
    };
    let Ok(parsed) = parse(&text, &ParseOptions::default()) else { return Ok("–") };
    if !rxla_hlo::verify(&parsed.module).is_empty() {
        return Ok("–");
    }
    let arguments = if op == "parameter" {
        let shape = rxla_hlo::Shape::array(element_type, [2]);
        vec![vec![rxla_hlo::Literal::zeros(&shape).unwrap()]]
    } else {
        vec![vec![]]
    };
    match evaluate_spmd(&parsed.module, arguments, &Options::default()) {
        Ok(_) => Ok("✓"),
        Err(error) if error.code == rxla_base::Code::Unimplemented => Ok("○"),
        Err(error) if error.message.contains("is not defined for element type") => Ok("–"),
        Err(error) => Err(format!("`{op}` of `{element_type}`: {error}")),
    }
}

fn page(rows: &[(&str, Vec<&str>)]) -> String {
    let mut page = "# Ops and element types\n\nEvery opcode of HLO with the element types of its data \
                    (`✓` runs on the interpreter, `–` is not defined, `○` is not built yet). Written by \
                    `RXLA_BLESS=1 cargo test -p rxla-interpreter --test ops coverage`; `infeed` and \
                    `outfeed` depend on the host.\n\n| op |"
        .to_owned();
    for element_type in ElementType::ALL {
        let _ = write!(page, " {element_type} |");
    }
    page += "\n|---|";
    page += &"---|".repeat(ElementType::ALL.len());
    page.push('\n');
    for (op, verdicts) in rows {
        let _ = writeln!(page, "| {op} | {} |", verdicts.join(" | "));
    }
    page
}

#[test]
fn what_the_verifier_accepts_runs() {
    let mut failures = Vec::new();
    let mut rows = Vec::new();
    for op in Op::all_names() {
        if HOST.contains(&op) {
            continue;
        }
        let verdicts: Vec<&str> = ElementType::ALL
            .iter()
            .map(|&element_type| {
                try_out(op, element_type).unwrap_or_else(|failure| {
                    failures.push(failure);
                    "✗"
                })
            })
            .collect();
        if verdicts.iter().all(|&verdict| verdict == "–") {
            failures.push(format!(
                "`{op}` runs with no type:\n{}",
                example(op, ElementType::F32).unwrap_or_default()
            ));
        }
        rows.push((op, verdicts));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ops.md");
    let page = page(&rows);
    if std::env::var_os("RXLA_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == page, "docs/ops.md is not what was found: write it with RXLA_BLESS=1");
}
