//! Programs divided over devices give what one device gives, whatever lies how. Values are small
//! integers, so that the order of sums does not show.

use rxla::hlo::native::NativeType;
use rxla::hlo::{ElementType, Literal, Shape};
use rxla::{Client, ClientOptions, CompileOptions, ExecuteOptions, Format, ReadOptions};

const DEVICES: usize = 4;

/// Shardings of a matrix over four devices, by how many rows and columns of tiles there are and
/// which tile each device has.
const SPREADS: &[(&str, [usize; 2], [usize; DEVICES])] = &[
    ("{replicated}", [1, 1], [0, 0, 0, 0]),
    ("{devices=[4,1]<=[4]}", [4, 1], [0, 1, 2, 3]),
    ("{devices=[1,4]0,2,1,3}", [1, 4], [0, 2, 1, 3]),
    ("{devices=[2,2]<=[4]}", [2, 2], [0, 1, 2, 3]),
    ("{devices=[2,2]<=[2,2]T(1,0)}", [2, 2], [0, 2, 1, 3]),
    ("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", [2, 1], [0, 0, 1, 1]),
    ("{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}", [1, 2], [0, 1, 0, 1]),
];

/// Bodies over `x` and `y`, matrices of 8×8, with a result of 8×8.
const BODIES: &[&str] = &[
    "ROOT r = f32[8,8] add(x, y)",
    "t = f32[8,8] transpose(y), dimensions={1,0}
  ROOT r = f32[8,8] subtract(x, t)",
    "ROOT r = f32[8,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "ROOT r = f32[8,8] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    "a = f32[2,4,8] reshape(x)
  b = f32[2,8,4] reshape(y)
  d = f32[2,4,4] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  e = f32[32] reshape(d)
  s = f32[8,4] reshape(e)
  z = f32[] constant(0)
  ROOT r = f32[8,8] pad(s, z), padding=0_0x2_2",
    "z = f32[] constant(0)
  s = f32[8] reduce(x, z), dimensions={0}, to_apply=sum
  b = f32[8,8] broadcast(s), dimensions={0}
  i = s32[8,8] iota(), iota_dimension=1
  c = f32[8,8] convert(i)
  m = f32[8,8] multiply(b, y)
  ROOT r = f32[8,8] add(m, c)",
    "low = f32[] constant(-inf)
  s = f32[] reduce(x, low), dimensions={0,1}, to_apply=largest
  b = f32[8,8] broadcast(s), dimensions={}
  p = pred[8,8] compare(x, y), direction=LT
  ROOT r = f32[8,8] select(p, b, y)",
    // A first value that counts once must not be counted by every device.
    "one = f32[] constant(1)
  s = f32[8] reduce(x, one), dimensions={1}, to_apply=sum
  b = f32[8,8] broadcast(s), dimensions={1}
  ROOT r = f32[8,8] add(b, y)",
    "h = f32[4,8] slice(x), slice={[2:6],[0:8]}
  g = f32[4,8] slice(y), slice={[0:8:2],[0:8]}
  c = f32[8,8] concatenate(h, g), dimensions={0}
  ROOT r = f32[8,8] reverse(c), dimensions={1}",
    "i = s32[] constant(3)
  o = s32[] constant(0)
  d = f32[2,8] dynamic-slice(x, i, o), dynamic_slice_sizes={2,8}
  ROOT r = f32[8,8] dynamic-update-slice(y, d, i, o)",
    "c = s32[8,8] convert(y)
  z = s32[] constant(0)
  k = s32[8] reduce(c, z), dimensions={1}, to_apply=sum_s32
  seven = s32[8] constant({7,7,7,7,7,7,7,7})
  n = s32[8] and(k, seven)
  n2 = s32[8,1] reshape(n)
  ROOT r = f32[8,8] gather(x, n2), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}",
    "i = s32[8,1] iota(), iota_dimension=0
  ROOT r = f32[8,8] scatter(x, i, y), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
    "ROOT r = f32[8,8] sort(x), dimensions={1}, to_apply=less",
    "a = f32[1,8,8] reshape(x)
  b = f32[1,8,8] reshape(y)
  c = f32[8,1,8] convolution(a, b), window={size=1}, dim_labels=0fb_0io->b0f
  ROOT r = f32[8,8] reshape(c)",
    "w = f32[8,8] reduce-window(x, zero), window={size=1x3 pad=0_0x1_1}, to_apply=sum
  ROOT r = f32[8,8] add(w, y)",
    // Loops and branches.
    "n = s32[] constant(0)
  t = (s32[], f32[8,8], f32[8,8]) tuple(n, x, y)
  l = (s32[], f32[8,8], f32[8,8]) while(t), condition=more, body=step
  ROOT r = f32[8,8] get-tuple-element(l), index=1",
    "z = f32[] constant(0)
  s = f32[] reduce(x, z), dimensions={0,1}, to_apply=sum
  p = pred[] compare(s, z), direction=GT
  t = (f32[8,8], f32[8,8]) tuple(x, y)
  ROOT r = f32[8,8] conditional(p, t, t), true_computation=yes, false_computation=no",
    "c = f32[8,8] call(x, y), to_apply=product
  ROOT r = f32[8,8] call(c, y), to_apply=product",
    "m = f32[8,8] custom-call(x), custom_call_target=\"Sharding\", sharding={devices=[1,4]<=[4]}
  a = f32[8,8] add(m, y)
  ROOT r = f32[8,8] custom-call(a), custom_call_target=\"Sharding\", sharding={replicated}",
];

/// Into a manual region and out again, and the same without.
const MANUAL: [&str; 2] = [
    "f = f32[8,8] custom-call(x), custom_call_target=\"Sharding\", sharding={devices=[4,1]<=[4]}
  m = f32[2,8] custom-call(f), custom_call_target=\"SPMDFullToShardShape\", sharding={manual}
  two = f32[] constant(2)
  b = f32[2,8] broadcast(two), dimensions={}
  d = f32[2,8] multiply(m, b)
  e = f32[2,8] custom-call(d), custom_call_target=\"Sharding\", sharding={manual}
  g = f32[8,8] custom-call(e), custom_call_target=\"SPMDShardToFullShape\", sharding={devices=[4,1]<=[4]}
  ROOT r = f32[8,8] add(g, y)",
    "d = f32[8,8] add(x, x)
  ROOT r = f32[8,8] add(d, y)",
];

/// Into a region that is manual along the first axis of a mesh of 2×2, with work that the second axis may
/// cut, and the same without. What is written `OPEN` may be cut further.
const PARTLY_MANUAL: &[[&str; 2]] = &[
    // A sum over the manual axis, reversal, and a product.
    [
        "f = f32[8,8] custom-call(x), custom_call_target=\"Sharding\", sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}, OPEN
  m = f32[4,8] custom-call(f), custom_call_target=\"SPMDFullToShardShape\", sharding={devices=[1,1,2,2]<=[4] last_tile_dims={manual, replicated}}, OPEN
  c = f32[4,8] custom-call(m), custom_call_target=\"Sharding\", sharding={devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={manual}}
  s = f32[4,8] all-reduce(c), channel_id=1, replica_groups={{0,2},{1,3}}, use_global_device_ids=true, to_apply=sum
  v = f32[4,8] reverse(s), dimensions={1}
  d = f32[4,8] subtract(c, v)
  p = f32[4,4] dot(d, c), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  b = f32[4,8] dot(p, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[4,8] custom-call(b), custom_call_target=\"Sharding\", sharding={devices=[1,1,2,2]<=[4] last_tile_dims={manual, replicated}}, OPEN
  g = f32[8,8] custom-call(e), custom_call_target=\"SPMDShardToFullShape\", sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}, OPEN
  ROOT r = f32[8,8] add(g, y)",
        "t = f32[4,8] slice(x), slice={[0:4],[0:8]}
  u = f32[4,8] slice(x), slice={[4:8],[0:8]}
  s = f32[4,8] add(t, u)
  v = f32[4,8] reverse(s), dimensions={1}
  vs = f32[8,8] concatenate(v, v), dimensions={0}
  d = f32[8,8] subtract(x, vs)
  a = f32[2,4,8] reshape(d)
  c = f32[2,4,8] reshape(x)
  p = f32[2,4,4] dot(a, c), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  b = f32[2,4,8] dot(p, c), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  g = f32[8,8] reshape(b)
  ROOT r = f32[8,8] add(g, y)",
    ],
    // Groups run a loop differently often, and what their devices have of the array moves in it. The
    // number comes from a region in which the second axis is manual, too.
    [
        "f = f32[8,8] custom-call(x), custom_call_target=\"Sharding\", sharding={devices=[1,2,2]<=[4] last_tile_dim_replicate}, OPEN
  m = f32[8,4] custom-call(f), custom_call_target=\"SPMDFullToShardShape\", sharding={devices=[1,1,2,2]<=[4] last_tile_dims={manual, replicated}}, OPEN
  c = f32[8,4] custom-call(m), custom_call_target=\"Sharding\", sharding={devices=[2,1,2]<=[2,2]T(1,0) last_tile_dims={manual}}
  id = u32[] partition-id()
  two = u32[] constant(2)
  q = u32[] divide(id, two)
  k = s32[] convert(q)
  w = s32[] custom-call(k), custom_call_target=\"Sharding\", sharding={manual}
  i = s32[] custom-call(w), custom_call_target=\"SPMDShardToFullShape\", sharding={devices=[2,2]<=[4] last_tile_dims={manual, replicated}}
  t = (s32[], f32[8,4]) tuple(i, c)
  l = (s32[], f32[8,4]) while(t), condition=once, body=turn
  o = f32[8,4] get-tuple-element(l), index=1
  h = f32[8,4] collective-permute(o), channel_id=2, source_target_pairs={{0,2},{2,0},{1,3},{3,1}}
  e = f32[8,4] custom-call(h), custom_call_target=\"Sharding\", sharding={devices=[1,1,2,2]<=[4] last_tile_dims={manual, replicated}}, OPEN
  g = f32[8,8] custom-call(e), custom_call_target=\"SPMDShardToFullShape\", sharding={devices=[1,2,2]<=[4] last_tile_dim_replicate}, OPEN
  ROOT r = f32[8,8] subtract(g, y)",
        "t = f32[8,4] slice(x), slice={[0:8],[0:4]}
  u = f32[8,4] slice(x), slice={[0:8],[4:8]}
  z = f32[] constant(0)
  n = f32[4] reduce(t, z), dimensions={0}, to_apply=sum
  b = f32[8,4] broadcast(n), dimensions={1}
  v = f32[8,4] reverse(t), dimensions={0}
  d = f32[8,4] subtract(b, v)
  g = f32[8,8] concatenate(u, d), dimensions={1}
  ROOT r = f32[8,8] subtract(g, y)",
    ],
];

const CALLED: &str = "
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
sum_s32 { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }
largest { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }
product { a = f32[8,8] parameter(0) b = f32[8,8] parameter(1) ROOT r = f32[8,8] multiply(a, b) }
more {
  t = (s32[], f32[8,8], f32[8,8]) parameter(0)
  n = s32[] get-tuple-element(t), index=0
  three = s32[] constant(3)
  ROOT r = pred[] compare(n, three), direction=LT
}
step {
  t = (s32[], f32[8,8], f32[8,8]) parameter(0)
  n = s32[] get-tuple-element(t), index=0
  one = s32[] constant(1)
  m = s32[] add(n, one)
  x = f32[8,8] get-tuple-element(t), index=1
  y = f32[8,8] get-tuple-element(t), index=2
  c = f32[8,8] transpose(y), dimensions={1,0}
  a = f32[8,8] add(x, c)
  ROOT r = (s32[], f32[8,8], f32[8,8]) tuple(m, a, y)
}
once {
  t = (s32[], f32[8,4]) parameter(0)
  n = s32[] get-tuple-element(t), index=0
  one = s32[] constant(1)
  ROOT r = pred[] compare(n, one), direction=LT
}
turn {
  t = (s32[], f32[8,4]) parameter(0)
  n = s32[] get-tuple-element(t), index=0
  one = s32[] constant(1)
  m = s32[] add(n, one)
  x = f32[8,4] get-tuple-element(t), index=1
  z = f32[] constant(0)
  s = f32[4] reduce(x, z), dimensions={0}, to_apply=sum
  b = f32[8,4] broadcast(s), dimensions={1}
  v = f32[8,4] reverse(x), dimensions={0}
  d = f32[8,4] subtract(b, v)
  ROOT r = (s32[], f32[8,4]) tuple(m, d)
}
yes {
  t = (f32[8,8], f32[8,8]) parameter(0)
  x = f32[8,8] get-tuple-element(t), index=0
  y = f32[8,8] get-tuple-element(t), index=1
  ROOT r = f32[8,8] multiply(x, y)
}
no {
  t = (f32[8,8], f32[8,8]) parameter(0)
  ROOT x = f32[8,8] get-tuple-element(t), index=1
}
";

/// The tile of one device.
fn part<T: NativeType>(whole: &[T], spread: usize, device: usize) -> Literal {
    let (_, [rows, columns], tiles) = SPREADS[spread];
    let (height, width) = (8 / rows, 8 / columns);
    let (top, left) = (tiles[device] / columns * height, tiles[device] % columns * width);
    let values: Vec<T> =
        (0..height * width).map(|i| whole[(top + i / width) * 8 + left + i % width]).collect();
    Literal::from_values([height as i64, width as i64], &values)
}

fn run(
    client: &Client,
    body: &str,
    spreads: Option<[usize; 3]>,
    x: &[f32],
    y: &[f32],
) -> Vec<Literal> {
    let partitions = if spreads.is_some() { DEVICES } else { 1 };
    let on = |which: usize| {
        spreads.map_or(String::new(), |spreads| format!(", sharding={}", SPREADS[spreads[which]].0))
    };
    // Some programs take both as one tuple.
    let tupled_arguments = spreads.is_some_and(|spreads| spreads[2].is_multiple_of(3));
    let parameters = match (tupled_arguments, spreads) {
        (true, Some([x, y, _])) => format!(
            "both = (f32[8,8], f32[8,8]) parameter(0), sharding={{{}, {}}}
  x = f32[8,8] get-tuple-element(both), index=0
  y = f32[8,8] get-tuple-element(both), index=1",
            SPREADS[x].0, SPREADS[y].0
        ),
        _ => format!(
            "x = f32[8,8] parameter(0){}
  y = f32[8,8] parameter(1){}",
            on(0),
            on(1)
        ),
    };
    // The result's sharding is that of a marker, which is the root then.
    let body = match spreads {
        None => body.to_owned(),
        Some(spreads) => format!(
            "{}\n  ROOT marked = f32[8,8] custom-call(r), custom_call_target=\"Sharding\", \
             sharding={}",
            body.replace("ROOT ", ""),
            SPREADS[spreads[2]].0
        ),
    };
    let body = body.replace("OPEN", "backend_config=\"unspecified_dims=[0,1]\"");
    let text = format!(
        "HloModule m, num_partitions={partitions}\n{CALLED}\nENTRY main {{
  {parameters}
  zero = f32[] constant(0)
  {body}\n}}"
    );
    let module = rxla::read_module(Format::HloText, text.as_bytes(), ReadOptions::default())
        .unwrap_or_else(|error| panic!("{text}\n{error}"));
    let options = CompileOptions {
        partitions,
        spmd_partitioning: true,
        tupled_arguments,
        ..CompileOptions::default()
    };
    let program = client.compile(module, options).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let arguments: Vec<_> = (0..partitions)
        .map(|device| {
            let [x_spread, y_spread, _] = spreads.unwrap_or([0; 3]);
            let memory = client.devices()[device].default_memory();
            [part(x, x_spread, device), part(y, y_spread, device)]
                .map(|value| client.buffer_in(value, memory).unwrap())
                .to_vec()
        })
        .collect();
    let outputs = program
        .execute(&arguments, &ExecuteOptions::default())
        .unwrap_or_else(|error| panic!("{text}\n{error}"));
    outputs.iter().map(|list| list[0].literal().unwrap()).collect()
}

#[test]
fn any_spread_gives_what_one_device_gives() {
    let options = ClientOptions { device_count: DEVICES, ..ClientOptions::default() };
    let client = Client::new(options).unwrap();
    // Small integers without a pattern that a transposition or shift would keep.
    let x: Vec<f32> = (0..64).map(|i| ((i * i * 7 + i * 3) % 11) as f32 - 4.0).collect();
    let y: Vec<f32> = (0..64).map(|i| ((i * i * 5 + i) % 13) as f32 - 6.0).collect();
    let bodies = BODIES
        .iter()
        .map(|&body| [body, body])
        .chain([MANUAL])
        .chain(PARTLY_MANUAL.iter().copied());
    for (number, [body, alone]) in bodies.enumerate() {
        let expected = run(&client, alone, None, &x, &y).remove(0);
        assert_eq!(expected.shape().without_layout(), Shape::array(ElementType::F32, [8, 8]));
        let expected: &[f32] = expected.values();
        let count = SPREADS.len();
        // A third of the pairs of spreads for each body, with another one of the result each time.
        for pair in (number % 3..count * count).step_by(3) {
            let spreads = [pair / count, pair % count, (pair + number) % count];
            let parts = run(&client, body, Some(spreads), &x, &y);
            for (device, got) in parts.iter().enumerate() {
                let expected = part(expected, spreads[2], device);
                assert_eq!(
                    got.values::<f32>(),
                    expected.values::<f32>(),
                    "{body}\non device {device} with {spreads:?}"
                );
            }
        }
    }
}

/// A dimension may be cut into more tiles than it has elements: the last devices have nothing of it.
#[test]
fn devices_beyond_the_end_have_padding() {
    let options = ClientOptions { device_count: DEVICES, ..ClientOptions::default() };
    let client = Client::new(options).unwrap();
    for size in 1..=9_usize {
        let text = format!(
            "HloModule m, num_partitions=4
ENTRY main {{
  x = f32[{size}] parameter(0), sharding={{devices=[4]<=[4]}}
  y = f32[{size}] parameter(1), sharding={{replicated}}
  a = f32[{size}] add(x, y)
  b = f32[{size}] custom-call(a), custom_call_target=\"Sharding\", sharding={{devices=[4]<=[4]}}
  c = f32[{size}] custom-call(a), custom_call_target=\"Sharding\", sharding={{replicated}}
  ROOT r = (f32[{size}], f32[{size}]) tuple(b, c), sharding={{{{devices=[4]<=[4]}}, {{replicated}}}}
}}"
        );
        let module = rxla::read_module(Format::HloText, text.as_bytes(), ReadOptions::default());
        let options = CompileOptions {
            partitions: DEVICES,
            spmd_partitioning: true,
            ..CompileOptions::default()
        };
        let program = client.compile(module.unwrap(), options).unwrap();
        let height = size.div_ceil(DEVICES);
        // What lies beyond the end is no zero, so that it shows if it is taken for an element.
        let tile = |whole: &[f32], device: usize| -> Vec<f32> {
            let at = |i: usize| whole.get(device * height + i).copied().unwrap_or(-99.0);
            (0..height).map(at).collect()
        };
        let x: Vec<f32> = (1..=size).map(|i| i as f32).collect();
        let sum: Vec<f32> = x.iter().map(|x| 101.0 * x).collect();
        let y: Vec<f32> = x.iter().map(|x| 100.0 * x).collect();
        let arguments: Vec<_> = (0..DEVICES)
            .map(|device| {
                let memory = client.devices()[device].default_memory();
                [tile(&x, device), y.clone()]
                    .map(|values| Literal::from_values([values.len() as i64], &values))
                    .map(|value| client.buffer_in(value, memory).unwrap())
                    .to_vec()
            })
            .collect();
        let outputs = program.execute(&arguments, &ExecuteOptions::default()).unwrap();
        for (device, outputs) in outputs.iter().enumerate() {
            let [part, whole] = [0, 1].map(|index| outputs[index].literal().unwrap());
            assert_eq!(whole.values::<f32>(), sum, "{size} elements on device {device}");
            let expected = tile(&sum, device);
            let elements = height.min(size.saturating_sub(device * height));
            assert_eq!(part.values::<f32>()[..elements], expected[..elements], "{size}, {device}");
        }
    }
}
