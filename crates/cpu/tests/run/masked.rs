//! Products of which a mask hides columns: those that nobody looks at are left out, whatever the mask says.

use rxla_cpu::{Options, compile, optimize};
use rxla_hlo::Literal;
use rxla_hlo::literal::Tolerance;

use crate::{agrees, module};

/// A mask by `row + start` and `column`, over a product of 40 rows and 300 columns.
const PROGRAM: &str = "
HloModule masked

ENTRY e {
  a = f32[1,40,64] parameter(0)
  b = f32[1,300,64] parameter(1)
  start = s32[] parameter(2)
  product = f32[1,40,300] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}
  scale = f32[] constant(0.125)
  scales = f32[1,40,300] broadcast(scale), dimensions={}
  scaled = f32[1,40,300] multiply(product, scales)
  places = s32[40] iota(), iota_dimension=0
  starts = s32[40] broadcast(start), dimensions={}
  sums = s32[40] add(places, starts)
  rows = s32[40,300] broadcast(sums), dimensions={0}
  columns = s32[40,300] iota(), iota_dimension=1
  odd = s32[40,300] and(columns, rows)
  one = s32[] constant(1)
  ones = s32[40,300] broadcast(one), dimensions={}
  later = s32[40,300] subtract(columns, ones)
  other = pred[40,300] compare(odd, ones), direction=NE
  MASK
  masks = pred[1,40,300] broadcast(mask), dimensions={1,2}
  low = f32[] constant(-1e30)
  lows = f32[1,40,300] broadcast(low), dimensions={}
  ROOT r = f32[1,40,300] select(masks, SIDES)
}";

fn check(mask: &str, sides: &str, marked: bool) {
    let module = module(&PROGRAM.replace("MASK", mask).replace("SIDES", sides));
    let mut optimized = (*module).clone();
    optimize(&mut optimized).unwrap();
    let findings = rxla_hlo::verify(&optimized);
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(optimized.to_string().contains("%seen"), marked, "{mask}");
    let executable = compile(&module, &Options::default()).unwrap();
    let wave = |count: usize| (0..count).map(|i| (i as f32 * 0.37).sin()).collect::<Vec<f32>>();
    for start in [0, 1, 37, 299, 300, 5000, -1, -39, -40, -41, i32::MAX, i32::MAX - 20, i32::MIN] {
        let inputs = vec![
            Literal::from_values([1, 40, 64], &wave(40 * 64)),
            Literal::from_values([1, 300, 64], &wave(300 * 64)),
            Literal::from_values([], &[start]),
        ];
        agrees(&module, &executable, inputs, Tolerance::within(2e-6, 1e-4));
    }
}

#[test]
fn what_is_seen_is_computed() {
    let plain = "scaled, lows";
    check("mask = pred[40,300] compare(rows, columns), direction=GE", plain, true);
    check("mask = pred[40,300] compare(rows, columns), direction=GT", plain, true);
    check("mask = pred[40,300] compare(columns, rows), direction=LE", plain, true);
    check("mask = pred[40,300] compare(later, rows), direction=LT", plain, true);
    check("mask = pred[40,300] compare(rows, columns), direction=LT", "lows, scaled", true);
    let both = "before = pred[40,300] compare(rows, later), direction=GE";
    let and = "mask = pred[40,300] and(other, before)";
    check(&format!("{both}\n  {and}"), plain, true);
    let neither = "hidden = pred[40,300] compare(columns, rows), direction=GT";
    let or = "some = pred[40,300] or(other, hidden)\n  mask = pred[40,300] not(some)";
    check(&format!("{neither}\n  {or}"), plain, true);
}

#[test]
fn other_masks_hide_no_columns() {
    let plain = "scaled, lows";
    check("mask = pred[40,300] compare(rows, columns), direction=LE", plain, false);
    check("mask = pred[40,300] compare(rows, columns), direction=GE", "lows, scaled", false);
    check("mask = pred[40,300] compare(odd, columns), direction=GE", plain, false);
    let or = "before = pred[40,300] compare(rows, columns), direction=GE\n  mask = pred[40,300] or(other, before)";
    check(or, plain, false);
}
