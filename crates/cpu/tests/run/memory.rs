//! Where results and temporaries lie.

use rxla_cpu::{Options, compile};
use rxla_hlo::Literal;
use rxla_hlo::literal::Tolerance;
use rxla_interpreter::Options as World;

use crate::{check, check_within, module};

#[test]
fn donated_memory_becomes_the_result() {
    let text = "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
        ENTRY e {
          x = f32[64] parameter(0)
          y = f32[64] parameter(1)
          z = f32[64] add(x, y)
          ROOT r = (f32[64]) tuple(z)
        }";
    let module = module(text);
    let executable = compile(&module, &Options::default()).unwrap();
    let values = |start: f32| {
        let values: Vec<f32> = (0..64).map(|i| start + i as f32).collect();
        Literal::from_values([64], &values)
    };
    let expected: Vec<f32> = (0..64).map(|i| 101.0 + 2.0 * i as f32).collect();
    let donated = values(1.0);
    let address = donated.array().bytes().as_ptr();
    let results = executable.run(vec![donated, values(100.0)], World::default).unwrap();
    assert_eq!(results[0].array().bytes().as_ptr(), address);
    assert_eq!(results[0].values::<f32>(), expected);
    // What somebody else holds too stays as it is.
    let kept = values(1.0);
    let results = executable.run(vec![kept.clone(), values(100.0)], World::default).unwrap();
    assert_eq!(results[0].values::<f32>(), expected);
    assert_eq!(kept, values(1.0));
}

/// Statistics of rows are computed where the rows are gone through, and what is normalised takes the place of
/// what it is made from.
#[test]
fn rows_are_normalised_in_place() {
    check_within(
        "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
        add { a = f32[] parameter(0)
          b = f32[] parameter(1)
          ROOT c = f32[] add(a, b) }
        max { a = f32[] parameter(0)
          b = f32[] parameter(1)
          ROOT c = f32[] maximum(a, b) }
        ENTRY e {
          given = f32[70,2,100] parameter(0)
          some = f32[] parameter(1)
          at = s32[70,2,100] iota(), iota_dimension=2
          row = s32[70,2,100] iota(), iota_dimension=0
          both = s32[70,2,100] multiply(at, row)
          seven = s32[] constant(7)
          sevens = s32[70,2,100] broadcast(seven), dimensions={}
          rest = s32[70,2,100] remainder(both, sevens)
          made = f32[70,2,100] convert(rest)
          x = f32[70,2,100] add(given, made)
          low = f32[] constant(-inf)
          zero = f32[] constant(0)
          most = f32[70,2] reduce(x, low), dimensions={2}, to_apply=max
          wide = f32[70,2,100] broadcast(most), dimensions={0,1}
          less = f32[70,2,100] subtract(x, wide)
          power = f32[70,2,100] exponential(less)
          sum = f32[70,2] reduce(power, zero), dimensions={2}, to_apply=add
          sums = f32[70,2,100] broadcast(sum), dimensions={0,1}
          softmax = f32[70,2,100] divide(power, sums)
          whole = f32[70] reduce(x, zero), dimensions={1,2}, to_apply=add
          whole_wide = f32[70,2,100] broadcast(whole), dimensions={0}
          shifted = f32[70,2,100] subtract(x, whole_wide)
          squares = f32[70,2,100] multiply(shifted, shifted)
          square = f32[70,2] reduce(squares, zero), dimensions={2}, to_apply=add
          one_square = f32[70,2,1] reshape(square)
          one_root = f32[70,2,1] sqrt(one_square)
          root = f32[70,2] reshape(one_root)
          root_wide = f32[70,2,100] broadcast(root), dimensions={0,1}
          normal = f32[70,2,100] divide(shifted, root_wide)
          turned = f32[100,2,70] transpose(normal), dimensions={2,1,0}
          ROOT r = (f32[70,2,100], f32[70,2,100], f32[100,2,70]) tuple(softmax, normal, turned)
        }",
        &[&zeros("f32[70,2,100]"), "f32[] 3"],
        Tolerance::within_ulps(64),
    );
}

/// A literal of zeros.
fn zeros(shape: &str) -> String {
    fn nested(dims: &[usize]) -> String {
        let Some((&size, inner)) = dims.split_first() else { return "0".to_owned() };
        format!("{{{}}}", vec![nested(inner); size].join(","))
    }
    let dims = shape.split(['[', ']']).nth(1).unwrap_or_default();
    let dims: Vec<usize> = dims.split(',').map(|size| size.parse().unwrap()).collect();
    format!("{shape} {}", nested(&dims))
}

/// The program's temporary memory, after it gave what the interpreter gives.
fn temporaries(text: &str, inputs: &[&str]) -> usize {
    check(text, inputs);
    compile(&module(text), &Options::default()).unwrap().temp_bytes()
}

#[test]
fn what_dies_before_a_result_is_written_lies_there() {
    let square = "f32[4,4] {{1,0.5,0,-1},{0.25,1,-0.5,0},{0,0.125,1,0.5},{-0.5,0,0.75,1}}";
    let text = "HloModule m
        ENTRY e {
          a = f32[4,4] parameter(0)
          b = f32[4,4] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          c = f32[4,4] dot(b, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          d = f32[4,4] dot(c, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          ROOT f = f32[4,4] dot(d, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        }";
    assert_eq!(temporaries(text, &[square]), 64);
}

#[test]
fn sorts_where_the_operands_are() {
    let text = "HloModule m
        before {
          a = f32[] parameter(0)
          b = f32[] parameter(1)
          c = s32[] parameter(2)
          d = s32[] parameter(3)
          ROOT l = pred[] compare(a, b), direction=LT
        }
        ENTRY e {
          x = f32[2,8] parameter(0)
          keys = f32[2,8] abs(x)
          places = s32[2,8] iota(), iota_dimension=1
          s = (f32[2,8], s32[2,8]) sort(keys, places), dimensions={1}, is_stable=true, to_apply=before
          ROOT p = s32[2,8] get-tuple-element(s), index=1
        }";
    let x = "f32[2,8] {{3,-1,nan,0,-0,2,-2,1},{5,4,3,2,1,0,-1,-2}}";
    assert_eq!(temporaries(text, &[x]), 64);
}

/// A driver with slots of its own for each of thousands of calls takes more of the stack than a thread has.
#[test]
fn calls_share_their_slots() {
    use rxla_kernel::{Op, Statement};

    let parameters: String =
        (0..20).map(|i| format!("p{i} = f32[{}] parameter({i})\n", 100 + i)).collect();
    let sums: String = (0..20)
        .map(|i| format!("s{i} = f32[] reduce(p{i}, zero), dimensions={{0}}, to_apply=add\n"))
        .collect();
    let list: Vec<String> = (0..20).map(|i| format!("s{i}")).collect();
    let text = format!(
        "HloModule m
        add {{
          a = f32[] parameter(0)
          b = f32[] parameter(1)
          ROOT r = f32[] add(a, b)
        }}
        ENTRY e {{
          {parameters}
          zero = f32[] constant(0)
          {sums}
          ROOT r = ({}) tuple({})
        }}",
        ["f32[]"; 20].join(", "),
        list.join(", ")
    );
    let program = rxla_cpu::lower(&module(&text)).unwrap();
    let driver = program.kernels.functions.last().unwrap();
    let count =
        |is: fn(&Statement) -> bool| driver.body.statements.iter().filter(|&s| is(s)).count();
    assert_eq!(count(|statement| matches!(statement, Statement::Call { .. })), 20);
    assert_eq!(
        count(|statement| matches!(statement, Statement::Let { op: Op::Alloca { .. }, .. })),
        1
    );
}

/// Of branches one runs: what others read may be overwritten, but not what comes after them reads.
#[test]
fn branches_have_the_memory_of_what_they_read() {
    let text = "HloModule m
        put { p = (s32[], f32[64], f32[64]) parameter(0)
          i = s32[] get-tuple-element(p), index=0
          a = f32[64] get-tuple-element(p), index=1
          b = f32[64] get-tuple-element(p), index=2
          n = f32[] convert(i)
          n1 = f32[1] reshape(n)
          c = f32[64] dynamic-update-slice(a, n1, i)
          ROOT t = (f32[64], f32[64]) tuple(c, b) }
        exchange { p = (s32[], f32[64], f32[64]) parameter(0)
          a = f32[64] get-tuple-element(p), index=1
          b = f32[64] get-tuple-element(p), index=2
          ROOT t = (f32[64], f32[64]) tuple(b, a) }
        sum { p = (f32[64], f32[64]) parameter(0)
          a = f32[64] get-tuple-element(p), index=0
          b = f32[64] get-tuple-element(p), index=1
          c = f32[64] add(a, b)
          ROOT t = (f32[64], f32[64]) tuple(c, b) }
        turn { p = (f32[64], f32[64]) parameter(0)
          a = f32[64] get-tuple-element(p), index=0
          c = f32[64] reverse(a), dimensions={0}
          ROOT t = (f32[64], f32[64]) tuple(a, c) }
        choose { p = (s32[], f32[64], f32[64]) parameter(0)
          a = f32[64] get-tuple-element(p), index=1
          b = f32[64] get-tuple-element(p), index=2
          first = f32[1] slice(a), slice={[0:1]}
          number = f32[] reshape(first)
          limit = f32[] constant(2)
          is = pred[] compare(number, limit), direction=LT
          q = (f32[64], f32[64]) tuple(a, b)
          ROOT t = (f32[64], f32[64]) conditional(is, q, q), true_computation=sum, false_computation=turn }
        double { p = (s32[], f32[64], f32[64]) parameter(0)
          a = f32[64] get-tuple-element(p), index=1
          ROOT t = (f32[64], f32[64]) tuple(a, a) }
        BODIES
        condition { s = (s32[], f32[64], f32[64]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          n = s32[] constant(23)
          ROOT c = pred[] compare(i, n), direction=LT }
        ENTRY e {
          x = f32[64] parameter(0)
          zero = s32[] constant(0)
          y = f32[64] reverse(x), dimensions={0}
          s = (s32[], f32[64], f32[64]) tuple(zero, x, y)
          v = (s32[], f32[64], f32[64]) while(s), condition=condition, body=body
          w = (s32[], f32[64], f32[64]) while(s), condition=condition, body=bodyafter
          once = (f32[64], f32[64]) conditional(zero, s, s, s), branch_computations={put, exchange, choose}
          ROOT r = ((s32[], f32[64], f32[64]), (s32[], f32[64], f32[64]), (f32[64], f32[64])) tuple(v, w, once)
        }";
    // One that hands on what its branches give, and one that reads what the branches read after them.
    let body = |name: &str, divisor: usize, after: &str, last: &str| {
        format!(
            "{name} {{ s = (s32[], f32[64], f32[64]) parameter(0)
               i = s32[] get-tuple-element(s), index=0
               a = f32[64] get-tuple-element(s), index=1
               one = s32[] constant(1)
               j = s32[] add(i, one)
               n = s32[] constant({divisor})
               r = s32[] remainder(i, n)
               t = (f32[64], f32[64]) conditional(r, s, s, s, s), branch_computations={{put, exchange, choose, double}}
               c = f32[64] get-tuple-element(t), index=0
               d = f32[64] get-tuple-element(t), index=1
               {after}
               ROOT next = (s32[], f32[64], f32[64]) tuple(j, c, {last}) }}"
        )
    };
    let after = "e = f32[64] subtract(c, a)
               f = f32[64] maximum(d, e)";
    let bodies = [body("body", 5, "", "d"), body("bodyafter", 4, after, "f")].join("\n");
    let numbers: Vec<String> = (0..64).map(|i| format!("{}", (i * 7 % 11) as f32 / 8.0)).collect();
    let input = format!("f32[64]{{0}} {{{}}}", numbers.join(", "));
    check(&text.replace("BODIES", &bodies), &[&input]);
}
