//! Loops and branches.

use crate::check;

pub(crate) const COUNT: &str = "HloModule m
    body {
      s = (s32[], s32[], f32[3]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      n = s32[] get-tuple-element(s), index=1
      x = f32[3] get-tuple-element(s), index=2
      one = s32[] constant(1)
      j = s32[] add(i, one)
      y = f32[3] add(x, x)
      ROOT t = (s32[], s32[], f32[3]) tuple(j, n, y)
    }
    cond {
      s = (s32[], s32[], f32[3]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      n = s32[] get-tuple-element(s), index=1
      ROOT c = pred[] compare(i, n), direction=LT
    }
    ENTRY e {
      n = s32[] parameter(0)
      x = f32[3] parameter(1)
      zero = s32[] constant(0)
      t = (s32[], s32[], f32[3]) tuple(zero, n, x)
      ROOT w = (s32[], s32[], f32[3]) while(t), condition=cond, body=body
    }";

#[test]
fn loops() {
    check(COUNT, &["s32[] 5", "f32[3]{0} {1, 2, 3}"]);
    check(COUNT, &["s32[] 0", "f32[3]{0} {1, 2, 3}"]);
}

#[test]
fn loops_that_exchange_what_they_carry() {
    check(
        "HloModule m
        body {
          s = (s32[], f32[2], f32[2], f32[2], f32[], f32[]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          a = f32[2] get-tuple-element(s), index=1
          b = f32[2] get-tuple-element(s), index=2
          c = f32[2] get-tuple-element(s), index=3
          p = f32[] get-tuple-element(s), index=4
          q = f32[] get-tuple-element(s), index=5
          one = s32[] constant(1)
          j = s32[] add(i, one)
          d = f32[2] add(b, c)
          pq = f32[] add(p, q)
          ROOT t = (s32[], f32[2], f32[2], f32[2], f32[], f32[]) tuple(j, b, a, d, q, pq)
        }
        cond {
          s = (s32[], f32[2], f32[2], f32[2], f32[], f32[]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          n = s32[] constant(7)
          ROOT c = pred[] compare(i, n), direction=LT
        }
        ENTRY e {
          a = f32[2] parameter(0)
          b = f32[2] parameter(1)
          p = f32[] parameter(2)
          zero = s32[] constant(0)
          t = (s32[], f32[2], f32[2], f32[2], f32[], f32[]) tuple(zero, a, b, a, p, p)
          w = (s32[], f32[2], f32[2], f32[2], f32[], f32[]) while(t), condition=cond, body=body
          x = f32[2] get-tuple-element(w), index=1
          ROOT r = ((s32[], f32[2], f32[2], f32[2], f32[], f32[]), f32[2]) tuple(w, x)
        }",
        &["f32[2]{0} {1, 2}", "f32[2]{0} {10, 20}", "f32[] 1"],
    );
}

/// Arrays that are large enough to change places rather than be copied: one, and two of which one
/// follows the other, in a loop inside a loop, after any number of iterations.
#[test]
fn loops_whose_arrays_change_places() {
    let text = |inner: i32, outer: i32| {
        format!(
            "HloModule m
            add {{
              a = f32[] parameter(0)
              b = f32[] parameter(1)
              ROOT c = f32[] add(a, b)
            }}
            inner {{
              s = (s32[], f32[300], f32[300], f32[300]) parameter(0)
              i = s32[] get-tuple-element(s), index=0
              now = f32[300] get-tuple-element(s), index=1
              before = f32[300] get-tuple-element(s), index=2
              other = f32[300] get-tuple-element(s), index=3
              one = s32[] constant(1)
              j = s32[] add(i, one)
              turned = f32[300] reverse(now), dimensions={{0}}
              half = f32[] constant(0.5)
              halves = f32[300] broadcast(half), dimensions={{}}
              scaled = f32[300] multiply(turned, halves)
              next = f32[300] subtract(scaled, before)
              low = f32[150] slice(other), slice={{[0:150]}}
              high = f32[150] slice(other), slice={{[150:300]}}
              swapped = f32[300] concatenate(high, low), dimensions={{0}}
              mixed = f32[300] add(swapped, halves)
              ROOT t = (s32[], f32[300], f32[300], f32[300]) tuple(j, next, now, mixed)
            }}
            inner_more {{
              s = (s32[], f32[300], f32[300], f32[300]) parameter(0)
              i = s32[] get-tuple-element(s), index=0
              n = s32[] constant({inner})
              ROOT c = pred[] compare(i, n), direction=LT
            }}
            outer {{
              s = (s32[], f32[300], f32[300], f32[300]) parameter(0)
              i = s32[] get-tuple-element(s), index=0
              now = f32[300] get-tuple-element(s), index=1
              before = f32[300] get-tuple-element(s), index=2
              other = f32[300] get-tuple-element(s), index=3
              one = s32[] constant(1)
              j = s32[] add(i, one)
              zero = s32[] constant(0)
              start = (s32[], f32[300], f32[300], f32[300]) tuple(zero, now, before, other)
              w = (s32[], f32[300], f32[300], f32[300]) while(start), condition=inner_more, body=inner
              x = f32[300] get-tuple-element(w), index=1
              y = f32[300] get-tuple-element(w), index=2
              z = f32[300] get-tuple-element(w), index=3
              flipped = f32[300] reverse(z), dimensions={{0}}
              ROOT t = (s32[], f32[300], f32[300], f32[300]) tuple(j, flipped, x, y)
            }}
            outer_more {{
              s = (s32[], f32[300], f32[300], f32[300]) parameter(0)
              i = s32[] get-tuple-element(s), index=0
              now = f32[300] get-tuple-element(s), index=1
              nothing = f32[] constant(0)
              sum = f32[] reduce(now, nothing), dimensions={{0}}, to_apply=add
              n = s32[] constant({outer})
              fewer = pred[] compare(i, n), direction=LT
              nan = pred[] compare(sum, sum), direction=NE
              some = pred[] not(nan)
              ROOT c = pred[] and(fewer, some)
            }}
            ENTRY e {{
              a = f32[300] parameter(0)
              i = f32[300] iota(), iota_dimension=0
              b = f32[300] add(a, i)
              c = f32[300] multiply(b, i)
              zero = s32[] constant(0)
              t = (s32[], f32[300], f32[300], f32[300]) tuple(zero, b, a, c)
              ROOT w = (s32[], f32[300], f32[300], f32[300]) while(t), condition=outer_more, body=outer
            }}"
        )
    };
    let values: Vec<String> = (0..300).map(|i| (i % 7 - 3).to_string()).collect();
    let argument = format!("f32[300]{{0}} {{{}}}", values.join(", "));
    for inner in 0..5 {
        for outer in 0..5 {
            check(&text(inner, outer), &[argument.as_str()]);
        }
    }
}

#[test]
fn branches() {
    let text = |index: &str| {
        format!(
            "HloModule m
            one {{
              p = (f32[2], f32[]) parameter(0)
              x = f32[2] get-tuple-element(p), index=0
              y = f32[] get-tuple-element(p), index=1
              d = f32[2] add(x, x)
              ROOT r = (f32[], f32[2]) tuple(y, d)
            }}
            two {{
              x = f32[2] parameter(0)
              k = f32[] constant(7)
              ROOT r = (f32[], f32[2]) tuple(k, x)
            }}
            three {{
              x = f32[2] parameter(0)
              k = f32[] constant(9)
              n = f32[2] negate(x)
              m = f32[2] multiply(n, n)
              ROOT r = (f32[], f32[2]) tuple(k, m)
            }}
            ENTRY e {{
              i = {index} parameter(0)
              x = f32[2] parameter(1)
              y = f32[] parameter(2)
              t = (f32[2], f32[]) tuple(x, y)
              ROOT r = (f32[], f32[2]) conditional(i, t, x{}), {}
            }}",
            if index == "s32[]" { ", x" } else { "" },
            if index == "s32[]" {
                "branch_computations={one, two, three}"
            } else {
                "true_computation=one, false_computation=two"
            }
        )
    };
    for number in ["-1", "0", "1", "2", "3"] {
        let index = format!("s32[] {number}");
        check(&text("s32[]"), &[&index, "f32[2]{0} {1, 2}", "f32[] 5"]);
    }
    for truth in ["true", "false"] {
        let index = format!("pred[] {truth}");
        check(&text("pred[]"), &[&index, "f32[2]{0} {1, 2}", "f32[] 5"]);
    }
}

#[test]
fn scans_write_their_rows_in_place() {
    check(
        "HloModule m
        body {
          s = (s32[], f32[5,3], f32[3], f32[5,3]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          ys = f32[5,3] get-tuple-element(s), index=1
          c = f32[3] get-tuple-element(s), index=2
          xs = f32[5,3] get-tuple-element(s), index=3
          zero = s32[] constant(0)
          one = s32[] constant(1)
          x = f32[1,3] dynamic-slice(xs, i, zero), dynamic_slice_sizes={1,3}
          x1 = f32[3] reshape(x)
          half = f32[] constant(0.5)
          h = f32[3] broadcast(half), dimensions={}
          d = f32[3] multiply(c, h)
          n = f32[3] add(d, x1)
          t = f32[3] tanh(n)
          row = f32[1,3] reshape(t)
          ys1 = f32[5,3] dynamic-update-slice(ys, row, i, zero)
          j = s32[] add(i, one)
          ROOT t1 = (s32[], f32[5,3], f32[3], f32[5,3]) tuple(j, ys1, t, xs)
        }
        cond {
          s = (s32[], f32[5,3], f32[3], f32[5,3]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          n = s32[] constant(5)
          ROOT c = pred[] compare(i, n), direction=LT
        }
        ENTRY e {
          xs = f32[5,3] parameter(0)
          c = f32[3] parameter(1)
          zero = s32[] constant(0)
          z = f32[] constant(0)
          ys = f32[5,3] broadcast(z), dimensions={}
          t = (s32[], f32[5,3], f32[3], f32[5,3]) tuple(zero, ys, c, xs)
          w = (s32[], f32[5,3], f32[3], f32[5,3]) while(t), condition=cond, body=body
          a = f32[5,3] get-tuple-element(w), index=1
          b = f32[3] get-tuple-element(w), index=2
          ROOT r = (f32[5,3], f32[3]) tuple(a, b)
        }",
        &["f32[5,3] {{1,2,3},{4,5,6},{7,8,9},{1,1,1},{0,1,0}}", "f32[3]{0} {0.1, 0.2, 0.3}"],
    );
}

/// A loop of five rounds over two arrays, with an index, and what the body makes of them.
fn two_carried(body: &str) -> String {
    format!(
        "HloModule m
        add {{
          x = f32[] parameter(0)
          y = f32[] parameter(1)
          ROOT s = f32[] add(x, y)
        }}
        update {{
          u = (f32[6,4], s32[]) parameter(0)
          ux = f32[6,4] get-tuple-element(u), index=0
          ui = s32[] get-tuple-element(u), index=1
          uz = s32[] constant(0)
          ur = f32[1,4] dynamic-slice(ux, ui, uz), dynamic_slice_sizes={{1,4}}
          un = f32[1,4] negate(ur)
          ROOT v = f32[6,4] dynamic-update-slice(ux, un, uz, uz)
        }}
        keep {{
          k = (f32[6,4], s32[]) parameter(0)
          ROOT kx = f32[6,4] get-tuple-element(k), index=0
        }}
        inner_cond {{
          s = (s32[], f32[6,4], s32[]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          n = s32[] constant(3)
          ROOT c = pred[] compare(i, n), direction=LT
        }}
        inner_body {{
          s = (s32[], f32[6,4], s32[]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          x = f32[6,4] get-tuple-element(s), index=1
          j = s32[] get-tuple-element(s), index=2
          one = s32[] constant(1)
          zero = s32[] constant(0)
          next = s32[] add(i, one)
          row = f32[1,4] dynamic-slice(x, j, zero), dynamic_slice_sizes={{1,4}}
          twice = f32[1,4] add(row, row)
          u = f32[6,4] dynamic-update-slice(x, twice, next, zero)
          ROOT t = (s32[], f32[6,4], s32[]) tuple(next, u, j)
        }}
        body {{
          s = (s32[], f32[6,4], f32[6,4]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          x = f32[6,4] get-tuple-element(s), index=1
          y = f32[6,4] get-tuple-element(s), index=2
          zero = s32[] constant(0)
          one = s32[] constant(1)
          j = s32[] add(i, one)
          row = f32[1,4] dynamic-slice(x, i, zero), dynamic_slice_sizes={{1,4}}
          more = f32[1,4] add(row, row)
          {body}
        }}
        cond {{
          s = (s32[], f32[6,4], f32[6,4]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          n = s32[] constant(5)
          ROOT c = pred[] compare(i, n), direction=LT
        }}
        ENTRY e {{
          x = f32[6,4] parameter(0)
          y = f32[6,4] parameter(1)
          zero = s32[] constant(0)
          t = (s32[], f32[6,4], f32[6,4]) tuple(zero, x, y)
          ROOT w = (s32[], f32[6,4], f32[6,4]) while(t), condition=cond, body=body
        }}"
    )
}

/// Where arrays are overwritten in place, and where that would lose what is still read.
#[test]
fn loops_that_update_what_they_carry() {
    let tuple = "ROOT t = (s32[], f32[6,4], f32[6,4]) tuple";
    let update = "u = f32[6,4] dynamic-update-slice(x, more, j, zero)";
    for body in [
        // A row from another row, and from itself.
        format!("{update} {tuple}(j, u, y)"),
        format!("u = f32[6,4] dynamic-update-slice(x, more, i, zero) {tuple}(j, u, y)"),
        // What was there before is read after, or kept, or handed on to the other.
        format!("{update} v = f32[6,4] add(u, x) {tuple}(j, u, v)"),
        format!("{update} {tuple}(j, u, x)"),
        format!("{update} {tuple}(j, x, u)"),
        // Both take turns, with and without an update; both become one array.
        format!("{tuple}(j, y, x)"),
        format!("{update} {tuple}(j, y, u)"),
        format!("{update} {tuple}(j, u, u)"),
        // Two updates of one array, and one after the other.
        format!("{update} v = f32[6,4] dynamic-update-slice(x, row, zero, zero) {tuple}(j, u, v)"),
        format!("{update} v = f32[6,4] dynamic-update-slice(u, row, zero, zero) {tuple}(j, v, y)"),
        format!(
            "{update} again = f32[1,4] dynamic-slice(u, j, zero), dynamic_slice_sizes={{1,4}}
             v = f32[6,4] dynamic-update-slice(u, again, zero, zero) {tuple}(j, v, y)"
        ),
        // The row is read under another shape.
        format!(
            "flat = f32[24] reshape(x)
             part = f32[4] slice(flat), slice={{[3:7]}}
             new = f32[1,4] reshape(part)
             u = f32[6,4] dynamic-update-slice(x, new, j, zero) {tuple}(j, u, y)"
        ),
        // A sum over all of it goes into a row.
        format!(
            "none = f32[] constant(0)
             sums = f32[4] reduce(x, none), dimensions={{0}}, to_apply=add
             new = f32[1,4] reshape(sums)
             u = f32[6,4] dynamic-update-slice(x, new, j, zero) {tuple}(j, u, y)"
        ),
        // Updates in a branch and in a loop inside.
        format!(
            "two = s32[] constant(2)
             c = pred[] compare(i, two), direction=LT
             a = (f32[6,4], s32[]) tuple(x, i)
             u = f32[6,4] conditional(c, a, a), true_computation=update, false_computation=keep
             {tuple}(j, u, y)"
        ),
        format!(
            "two = s32[] constant(2)
             c = pred[] compare(i, two), direction=LT
             a = (f32[6,4], s32[]) tuple(x, i)
             u = f32[6,4] conditional(c, a, a), true_computation=update, false_computation=keep
             v = f32[6,4] add(x, y)
             {tuple}(j, u, v)"
        ),
        format!(
            "a = (s32[], f32[6,4], s32[]) tuple(zero, x, i)
             w = (s32[], f32[6,4], s32[]) while(a), condition=inner_cond, body=inner_body
             u = f32[6,4] get-tuple-element(w), index=1
             {tuple}(j, y, u)"
        ),
    ] {
        check(
            &two_carried(&body),
            &[
                "f32[6,4] {{1,2,3,4},{5,6,7,8},{9,1,2,3},{4,5,6,7},{8,9,1,2},{3,4,5,6}}",
                "f32[6,4] {{2,4,3,1},{5,2,1,0},{3,3,3,7},{0,1,0,1},{6,6,1,8},{2,7,1,8}}",
            ],
        );
    }
}

/// The gradient of weights: what a step adds is computed where the sum lies.
#[test]
fn products_added_in_a_loop() {
    let row: Vec<String> = (0..40).map(|i| format!("{}", i % 7 - 3)).collect();
    let rows =
        [row.join(","), row[8..].join(",") + ",1,2,3,4,5,6,7,8"].map(|row| format!("{{{row}}}"));
    check(
        "HloModule m
        body {
          s = (s32[], f32[40,40], f32[2,40]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          w = f32[40,40] get-tuple-element(s), index=1
          x = f32[2,40] get-tuple-element(s), index=2
          one = s32[] constant(1)
          j = s32[] add(i, one)
          d = f32[40,40] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
          u = f32[40,40] add(w, d)
          y = f32[2,40] negate(x)
          ROOT t = (s32[], f32[40,40], f32[2,40]) tuple(j, u, y)
        }
        cond {
          s = (s32[], f32[40,40], f32[2,40]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          n = s32[] constant(3)
          ROOT c = pred[] compare(i, n), direction=LT
        }
        ENTRY e {
          x = f32[2,40] parameter(0)
          zero = s32[] constant(0)
          none = f32[] constant(0)
          w = f32[40,40] broadcast(none), dimensions={}
          t = (s32[], f32[40,40], f32[2,40]) tuple(zero, w, x)
          ROOT r = (s32[], f32[40,40], f32[2,40]) while(t), condition=cond, body=body
        }",
        &[&format!("f32[2,40] {{{}}}", rows.join(","))],
    );
}

/// Whole numbers, so that every order of a sum gives the same.
#[test]
fn products_of_rows_move_out_of_loops() {
    check(
        "HloModule m
        body {
          state = (s32[], f32[8,2,256], f32[256,128], f32[256,128], f32[8,2,256], f32[2,128]) parameter(0)
          n = s32[] get-tuple-element(state), index=0
          xs = f32[8,2,256] get-tuple-element(state), index=1
          w = f32[256,128] get-tuple-element(state), index=2
          dw = f32[256,128] get-tuple-element(state), index=3
          dxs = f32[8,2,256] get-tuple-element(state), index=4
          g = f32[2,128] get-tuple-element(state), index=5
          one = s32[] constant(1)
          zero = s32[] constant(0)
          last = s32[] constant(7)
          next = s32[] add(n, one)
          step = s32[] subtract(last, n)
          row = f32[1,2,256] dynamic-slice(xs, step, zero, zero), dynamic_slice_sizes={1,2,256}
          x = f32[2,256] reshape(row)
          xw = f32[2,128] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          sum = f32[2,128] add(g, xw)
          five = f32[] constant(5)
          fives = f32[2,128] broadcast(five), dimensions={}
          d = f32[2,128] remainder(sum, fives)
          outer = f32[128,256] dot(d, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
          turned = f32[256,128] transpose(outer), dimensions={1,0}
          total = f32[256,128] add(dw, turned)
          dx = f32[2,256] dot(d, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
          dx_row = f32[1,2,256] reshape(dx)
          rows = f32[8,2,256] dynamic-update-slice(dxs, dx_row, step, zero, zero)
          ROOT out = (s32[], f32[8,2,256], f32[256,128], f32[256,128], f32[8,2,256], f32[2,128]) tuple(next, xs, w, total, rows, d)
        }
        condition {
          state = (s32[], f32[8,2,256], f32[256,128], f32[256,128], f32[8,2,256], f32[2,128]) parameter(0)
          n = s32[] get-tuple-element(state), index=0
          bound = s32[] constant(8)
          ROOT go = pred[] compare(n, bound), direction=LT
        }
        ENTRY e {
          some = f32[] parameter(0)
          seven = f32[] constant(7)
          xi = f32[4096] iota(), iota_dimension=0
          sevens = f32[4096] broadcast(seven), dimensions={}
          xm = f32[4096] remainder(xi, sevens)
          somes = f32[4096] broadcast(some), dimensions={}
          xp = f32[4096] add(xm, somes)
          xs = f32[8,2,256] reshape(xp)
          wi = f32[32768] iota(), iota_dimension=0
          w7 = f32[32768] broadcast(seven), dimensions={}
          wm = f32[32768] remainder(wi, w7)
          ws = f32[32768] broadcast(some), dimensions={}
          wp = f32[32768] subtract(wm, ws)
          w = f32[256,128] reshape(wp)
          g = f32[2,128] broadcast(some), dimensions={}
          dw = f32[256,128] broadcast(some), dimensions={}
          dxs = f32[8,2,256] broadcast(some), dimensions={}
          zero = s32[] constant(0)
          init = (s32[], f32[8,2,256], f32[256,128], f32[256,128], f32[8,2,256], f32[2,128]) tuple(zero, xs, w, dw, dxs, g)
          loop = (s32[], f32[8,2,256], f32[256,128], f32[256,128], f32[8,2,256], f32[2,128]) while(init), condition=condition, body=body
          a = f32[256,128] get-tuple-element(loop), index=3
          b = f32[8,2,256] get-tuple-element(loop), index=4
          c = f32[2,128] get-tuple-element(loop), index=5
          ROOT all = (f32[256,128], f32[8,2,256], f32[2,128]) tuple(a, b, c)
        }",
        &["f32[] 3"],
    );
}

/// A product with what the inner loop does not change, but the outer one does, and one with a constant. Whole numbers,
/// as above.
#[test]
fn matrices_that_stay_packed_in_loops() {
    let state = "(s32[], f32[64,64], f32[64,64])";
    let row: Vec<String> = (0..64).map(|i| format!("{}", i % 5 - 2)).collect();
    let rows = |shift: usize| {
        let row = |i: usize| {
            let at = (i * shift) % 64;
            format!("{{{}}}", [&row[at..], &row[..at]].concat().join(","))
        };
        format!("f32[64,64] {{{}}}", (0..64).map(row).collect::<Vec<_>>().join(","))
    };
    let constant = rows(7).replace("f32[64,64] ", "");
    check(
        &format!(
            "HloModule m
            inner {{
              s = {state} parameter(0)
              i = s32[] get-tuple-element(s), index=0
              w = f32[64,64] get-tuple-element(s), index=1
              x = f32[64,64] get-tuple-element(s), index=2
              one = s32[] constant(1)
              j = s32[] add(i, one)
              xw = f32[64,64] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
              c = f32[64,64] constant({constant})
              xc = f32[64,64] dot(xw, c), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
              three = f32[] constant(3)
              threes = f32[64,64] broadcast(three), dimensions={{}}
              y = f32[64,64] remainder(xc, threes)
              ROOT t = {state} tuple(j, w, y)
            }}
            goes {{
              s = {state} parameter(0)
              i = s32[] get-tuple-element(s), index=0
              n = s32[] constant(3)
              ROOT c = pred[] compare(i, n), direction=LT
            }}
            outer {{
              s = {state} parameter(0)
              i = s32[] get-tuple-element(s), index=0
              w = f32[64,64] get-tuple-element(s), index=1
              x = f32[64,64] get-tuple-element(s), index=2
              one = s32[] constant(1)
              j = s32[] add(i, one)
              zero = s32[] constant(0)
              init = {state} tuple(zero, w, x)
              loop = {state} while(init), condition=goes, body=inner
              y = f32[64,64] get-tuple-element(loop), index=2
              ones = f32[] constant(1)
              all = f32[64,64] broadcast(ones), dimensions={{}}
              u = f32[64,64] add(w, all)
              ROOT t = {state} tuple(j, u, y)
            }}
            ENTRY e {{
              w = f32[64,64] parameter(0)
              x = f32[64,64] parameter(1)
              zero = s32[] constant(0)
              t = {state} tuple(zero, w, x)
              ROOT r = {state} while(t), condition=goes, body=outer
            }}"
        ),
        &[&rows(1), &rows(3)],
    );
}
