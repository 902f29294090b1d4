//! Times factors of square matrices, best of many runs, in GFLOP/s too where LAPACK's counts are common.
//!
//!     cargo run --release -p rxla-runtime --example factors [threads=N] [seconds=S] [NAME…]

#![allow(unsafe_code, clippy::print_stdout)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use rxla_runtime::element::Element;
use rxla_runtime::linear::{
    Cholesky, Diagonal, Eigen, Form, Lu, Qr, Side, Triangle, TriangularSolve, Wanted, rxla_geqrf,
    rxla_getrf, rxla_potrf, rxla_syevd, rxla_triangular_solve,
};
use rxla_runtime::{Context, Pool};

/// A well-conditioned symmetric matrix, so that every factorisation takes it.
fn matrix(size: usize) -> Vec<f64> {
    let mut state = 1_u64;
    let mut values = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..=i {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let value = (state >> 40) as f64 / (1 << 24) as f64 - 0.5;
            values[i * size + j] = value;
            values[j * size + i] = value;
        }
    }
    values
}

fn bytes(values: &[f64], element: Element) -> Vec<u8> {
    match element {
        Element::F32 => values.iter().flat_map(|&value| (value as f32).to_ne_bytes()).collect(),
        _ => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
    }
}

fn main() {
    let mut threads = rxla_runtime::available_threads();
    let mut seconds = 0.5;
    let mut names = Vec::new();
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("threads", value)) => threads = value.parse().expect("a number"),
            Some(("seconds", value)) => seconds = value.parse().expect("a number"),
            _ => names.push(argument),
        }
    }
    let context = Context::new(Some(Pool::with_threads(threads)));
    for (element, short) in [(Element::F32, "f32"), (Element::F64, "f64")] {
        for size in [64, 128, 256, 512, 1024] {
            let general = matrix(size);
            let mut definite = general.clone();
            (0..size).for_each(|i| definite[i * size + i] += size as f64);
            let (general, definite) = (bytes(&general, element), bytes(&definite, element));
            let (mut result, mut other) = (general.clone(), general.clone());
            let mut numbers = vec![0_i32; size];
            let mut failure = 0_i32;
            let cube = (size * size * size) as f64;
            let time = |name: &str, operations: f64, run: &mut dyn FnMut() -> i32| {
                let name = format!("{name}_{short}_{size}");
                if !names.is_empty() && !names.iter().any(|part| name.contains(part.as_str())) {
                    return;
                }
                let (begin, mut best) = (Instant::now(), Duration::MAX);
                while begin.elapsed().as_secs_f64() < seconds {
                    let start = Instant::now();
                    assert_eq!(black_box(run()), 0);
                    best = best.min(start.elapsed());
                }
                let rate = operations / best.as_secs_f64() / 1e9;
                println!("{name:24} {:10.4} ms {rate:8.1} GFLOP/s", best.as_secs_f64() * 1e3);
            };
            let at = context.as_ptr();
            let (into, second) = (result.as_mut_ptr(), other.as_mut_ptr());
            let lu = Lu { element, batch: 1, rows: size, columns: size }.encode().expect("known");
            // SAFETY: here and below, all arrays are as large as the codes say.
            time("lu", cube * 2.0 / 3.0, &mut || unsafe {
                let pivots = numbers.as_mut_ptr();
                rxla_getrf(at, general.as_ptr(), into, pivots, &raw mut failure, lu.as_ptr())
            });
            let cholesky = Cholesky { element, batch: 1, size, triangle: Triangle::Lower };
            let cholesky = cholesky.encode().expect("known");
            time("cholesky", cube / 3.0, &mut || unsafe {
                rxla_potrf(at, definite.as_ptr(), into, &raw mut failure, cholesky.as_ptr())
            });
            let solve = |triangle, form, lines| TriangularSolve {
                element,
                batch: 1,
                size,
                lines,
                side: Side::Left,
                triangle,
                form,
                diagonal: Diagonal::Stored,
            };
            for (name, triangle, form, lines) in [
                ("solve_lower", Triangle::Lower, Form::Plain, size),
                ("solve_upper", Triangle::Upper, Form::Plain, size),
                ("solve_turned", Triangle::Lower, Form::Transpose, size),
                ("solve_8", Triangle::Lower, Form::Plain, 8),
            ] {
                let code = solve(triangle, form, lines).encode().expect("known");
                time(name, (size * size * lines) as f64, &mut || unsafe {
                    rxla_triangular_solve(
                        at,
                        definite.as_ptr(),
                        general.as_ptr(),
                        into,
                        code.as_ptr(),
                    )
                });
            }
            let qr = Qr { element, batch: 1, rows: size, columns: size, reflections: size };
            let qr = qr.encode().expect("known");
            time("qr", cube * 4.0 / 3.0, &mut || unsafe {
                rxla_geqrf(at, general.as_ptr(), into, second, qr.as_ptr())
            });
            for (name, vectors) in [("eigh", Wanted::Some), ("eigvalsh", Wanted::Nothing)] {
                let triangle = Triangle::Lower;
                let eigen = Eigen { element, batch: 1, size, triangle, vectors };
                let code = eigen.encode().expect("known");
                time(name, cube * 4.0 / 3.0, &mut || unsafe {
                    rxla_syevd(at, general.as_ptr(), into, second, &raw mut failure, code.as_ptr())
                });
            }
        }
    }
}
