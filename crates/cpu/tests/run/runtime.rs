//! What the runtime's kernels do: products, convolutions, sorts, transforms, linear algebra.

use rxla_cpu::{Options, compile};
use rxla_hlo::literal::Tolerance;

use crate::{check, check_within, module};

#[test]
fn products_and_convolutions_of_the_runtime() {
    check(
        "HloModule m
        ENTRY e {
          i = f32[2,40,3] iota(), iota_dimension=1
          j = f32[3,5,40] iota(), iota_dimension=2
          d = f32[2,3,3,5] dot(i, j), lhs_contracting_dims={1}, rhs_contracting_dims={2}
          x = f32[1,8,8,2] iota(), iota_dimension=1
          k = f32[3,3,2,4] iota(), iota_dimension=0
          c = f32[1,4,4,4] convolution(x, k), window={size=3x3 stride=2x2 pad=1_0x0_1}, dim_labels=b01f_01io->b01f
          ROOT r = (f32[2,3,3,5], f32[1,4,4,4]) tuple(d, c)
        }",
        &[],
    );
}

/// As JAX writes it.
const SORT: &str = "HloModule m
    less {
      x = f32[] parameter(0)
      y = f32[] parameter(1)
      a = s32[] parameter(2)
      b = s32[] parameter(3)
      zero = f32[] constant(0)
      nan = f32[] constant(nan)
      xz = pred[] compare(x, zero), direction=EQ
      xs = f32[] select(xz, zero, x)
      xn = pred[] compare(x, x), direction=NE
      xk = f32[] select(xn, nan, xs)
      yz = pred[] compare(y, zero), direction=EQ
      ys = f32[] select(yz, zero, y)
      yn = pred[] compare(y, y), direction=NE
      yk = f32[] select(yn, nan, ys)
      ROOT l = pred[] compare(xk, yk), direction=LT, type=TOTALORDER
    }
    ENTRY e {
      x = f32[2,6] parameter(0)
      i = s32[2,6] iota(), iota_dimension=1
      ROOT s = (f32[2,6], s32[2,6]) sort(x, i), dimensions={1}, is_stable=true, to_apply=less
    }";

#[test]
fn sorts_by_keys_run_in_the_runtime() {
    check(SORT, &["f32[2,6] {{3,-0,0,nan,-inf,1},{2,2,1,1,-5,0}}"]);
    let executable = compile(&module(SORT), &Options::default()).unwrap();
    assert_eq!(executable.fallbacks().len(), 0);
}

#[test]
fn transforms_and_linear_algebra_of_the_runtime() {
    let text = "HloModule m
        ENTRY e {
          x = f32[2,6] parameter(0)
          a = f32[3,3] parameter(1)
          b = f32[3,2] parameter(2)
          f = c64[2,4] fft(x), fft_type=RFFT, fft_length={6}
          g = f32[2,6] fft(f), fft_type=IRFFT, fft_length={6}
          h = c64[2,4] fft(f), fft_type=IFFT, fft_length={4}
          l = f32[3,3] cholesky(a), lower=true
          s = f32[3,2] triangular-solve(a, b), left_side=true, lower=true, transpose_a=TRANSPOSE
          c = f32[2,3] transpose(b), dimensions={1,0}
          u = f32[2,3] triangular-solve(a, c), unit_diagonal=true, transpose_a=NO_TRANSPOSE
          ROOT r = (f32[2,6], c64[2,4], f32[3,3], f32[3,2], f32[2,3]) tuple(g, h, l, s, u)
        }";
    let inputs = [
        "f32[2,6] {{1,2,4,-1,0.5,3},{3,0,0,1,2,-2}}",
        "f32[3,3] {{4,1,0.5},{1,5,1},{0.5,1,6}}",
        "f32[3,2] {{1,2},{3,-4},{5,6}}",
    ];
    let module = module(text);
    assert_eq!(compile(&module, &Options::default()).unwrap().fallbacks().len(), 0);
    check_within(text, &inputs, Tolerance::within(1e-5, 1e-5));
}
