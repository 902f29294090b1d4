//! What is rewritten has the values that it had, as near as floats are; and what must stay stays.

use rxla_hlo::text::{ParseOptions, parse};
use rxla_interpreter::{Options, evaluate};

use super::*;

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % end) as i64
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

/// `{…}` of as many integers of a type, in as many dimensions.
fn constant(random: &mut Random, element_type: &str, dims: &[i64]) -> String {
    let Some((&first, rest)) = dims.split_first() else {
        let start = if element_type == "s8" { -128 } else { 0 };
        return (start + random.below(256)).to_string();
    };
    let parts: Vec<String> = (0..first).map(|_| constant(random, element_type, rest)).collect();
    format!("{{{}}}", parts.join(", "))
}

fn sizes(dims: &[i64]) -> String {
    dims.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// The lines of an array `name` that is brought back from bytes. A channel has its own scale, and its own
/// zero point in one case of two.
fn dequantized(
    random: &mut Random,
    name: &str,
    dims: &[i64],
    channel: Option<usize>,
    zeros: &[i64],
) -> String {
    let element_type = random.pick(&["s8", "u8"]);
    let zero = |random: &mut Random| {
        let moved = if element_type == "s8" { 0 } else { 128 };
        random.pick(zeros) + moved
    };
    let numbers = |numbers: &mut dyn FnMut() -> String, own: Option<usize>| match own {
        Some(d) => {
            let list: Vec<String> = (0..dims[d]).map(|_| numbers()).collect();
            (format!("[{}]", dims[d]), format!("{{{}}}", list.join(", ")), d.to_string())
        }
        None => ("[]".to_owned(), numbers(), String::new()),
    };
    let own_zero = if random.below(2) == 0 { channel } else { None };
    let (zero_shape, zero, zero_dim) = numbers(&mut || zero(random).to_string(), own_zero);
    let mut scale = || format!("0.0{}", 1 + random.below(99));
    let (scale_shape, scale, scale_dim) = numbers(&mut scale, channel);
    let values = constant(random, element_type, dims);
    let d = sizes(dims);
    format!(
        "  {name}_q = {element_type}[{d}] constant({values})\n  \
         {name}_f = f32[{d}] convert({name}_q)\n  \
         {name}_z = f32{zero_shape} constant({zero})\n  \
         {name}_zs = f32[{d}] broadcast({name}_z), dimensions={{{zero_dim}}}\n  \
         {name}_m = f32[{d}] subtract({name}_f, {name}_zs)\n  \
         {name}_s = f32{scale_shape} constant({scale})\n  \
         {name}_ss = f32[{d}] broadcast({name}_s), dimensions={{{scale_dim}}}\n  \
         {name} = f32[{d}] multiply({name}_m, {name}_ss)\n"
    )
}

/// Rewrites a module, and compares what it computes; `most` is the largest magnitude of a sum's parts together.
fn check(text: &str, most: f64) -> Module {
    let mut module = parse(text, &ParseOptions::default()).expect(text).module;
    let expected = evaluate(&module, vec![], &Options::default()).expect("runs");
    assert_eq!(QuantizedDotRewriter.run(&mut module, &Context::new()).expect("fits"), 1, "{text}");
    assert!(rxla_hlo::verify(&module).is_empty(), "{text}");
    let found = evaluate(&module, vec![], &Options::default()).expect("runs");
    let (expected, found) = (expected.array(), found.array());
    assert_eq!(expected.shape().dims, found.shape().dims);
    for (x, y) in expected.values::<f32>().iter().zip(found.values::<f32>()) {
        assert!(f64::from((x - y).abs()) <= most * 1e-6, "{x} {y} {most}\n{text}");
    }
    module
}

/// The types of the operands of the one product.
fn types(module: &Module) -> Vec<String> {
    let all = module[module.entry()].instructions().iter();
    let product = |&&i: &&InstructionId| matches!(module[i].op, Op::Dot(_) | Op::Convolution(_));
    let product = *all.clone().find(product).expect("a product");
    let types = |&operand: &InstructionId| view::element_type(module, operand).unwrap().to_string();
    module[product].operands().iter().map(types).collect()
}

#[test]
fn products_of_any_form() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let ranks = random.below(2);
        let batch: Vec<i64> = (0..ranks).map(|_| random.below(4)).collect();
        let [m, n] = [0, 1].map(|_| random.pick(&[0, 1, 2, 3, 5, 40]));
        let k = random.pick(&[0, 1, 2, 7, 33]);
        let rank = batch.len();
        let (mut left, mut right) = (batch.clone(), batch.clone());
        let turned = [random.below(2) == 1, random.below(2) == 1];
        left.extend(if turned[0] { [k, m] } else { [m, k] });
        right.extend(if turned[1] { [n, k] } else { [k, n] });
        let channel = |turned: bool, random: &mut Random| match random.below(3) {
            0 => None,
            1 if rank > 0 => Some(0),
            _ => Some(if turned { rank } else { rank + 1 }),
        };
        let own = [channel(!turned[0], &mut random), channel(turned[1], &mut random)];
        let zeros = random.pick(&[&[0][..], &[-128], &[3], &[-128, 5, 127, 0]]);
        let x = dequantized(&mut random, "x", &left, own[0], zeros);
        let y = dequantized(&mut random, "y", &right, own[1], &[random_zero(seed)]);
        let batches = if rank == 1 { "0" } else { "" };
        let mut result = batch.clone();
        result.extend([m, n]);
        let (lhs, rhs) = (rank + usize::from(!turned[0]), rank + usize::from(turned[1]));
        let text = format!(
            "HloModule m\nENTRY e {{\n{x}{y}  ROOT r = f32[{}] dot(x, y), \
             lhs_batch_dims={{{batches}}}, lhs_contracting_dims={{{lhs}}}, \
             rhs_batch_dims={{{batches}}}, rhs_contracting_dims={{{rhs}}}\n}}\n",
            sizes(&result)
        );
        check(&text, k as f64 * 256.0 * 256.0 * 0.1 * 0.1);
    }
}

fn random_zero(seed: u64) -> i64 {
    [0, 0, 0, -128, 9][seed as usize % 5]
}

#[test]
fn convolutions_of_any_form() {
    for seed in 0..200 {
        let mut random = Random(seed);
        // Groups of features or of images, not of both.
        let (groups, batches) = random.pick(&[(1, 1), (1, 1), (2, 1), (1, 2)]);
        let [images, height] = [batches * random.below(3), random.pick(&[1, 4, 9])];
        let features = groups * random.pick(&[1, 3]);
        let outputs = groups * batches * random.pick(&[1, 2, 5]);
        let (taps, stride) = (random.pick(&[1, 1, 3]).min(height), 1 + random.below(2));
        let (low, high) = (random.pick(&[0, 0, 1]), random.pick(&[0, 0, 2]));
        let dilation = random.pick(&[1, 1, 2]);
        let places = ((height - 1) * dilation + 1 + low + high - taps) / stride + 1;
        let left = [images, features, height, 3];
        let right = [outputs, features / groups, taps, 1];
        let own = if random.below(2) == 0 { Some(0) } else { None };
        let zeros = random.pick(&[&[0][..], &[-128], &[3]]);
        let image = if batches == 1 && random.below(3) == 0 { Some(0) } else { None };
        let x = dequantized(&mut random, "x", &left, image, zeros);
        let y = dequantized(&mut random, "y", &right, own, &[random_zero(seed)]);
        let text = format!(
            "HloModule m\nENTRY e {{\n{x}{y}  \
             ROOT r = f32[{},{outputs},{places},3] convolution(x, y), \
             window={{size={taps}x1 stride={stride}x1 pad={low}_{high}x0_0 lhs_dilate={dilation}x1}}, \
             dim_labels=bf01_oi01->bf01, feature_group_count={groups}, \
             batch_group_count={batches}\n}}\n",
            images / batches
        );
        check(&text, (features * taps) as f64 * 256.0 * 256.0 * 0.1 * 0.1);
    }
}

/// Of a product with these zero points, what is multiplied.
fn product(left_zero: i64, right_zero: i64, rows: i64) -> Vec<String> {
    let side = |name: &str, dims: &str, zero: i64| {
        format!(
            "  {name}_q = s8[{dims}] parameter({})\n  {name}_f = f32[{dims}] convert({name}_q)\n  \
             {name}_z = f32[] constant({zero})\n  \
             {name}_zs = f32[{dims}] broadcast({name}_z), dimensions={{}}\n  \
             {name} = f32[{dims}] subtract({name}_f, {name}_zs)\n",
            i32::from(name == "y")
        )
    };
    let (x, y) = (side("x", &format!("{rows},20"), left_zero), side("y", "30,20", right_zero));
    let text = format!(
        "HloModule m\nENTRY e {{\n{x}{y}  t = f32[20,30] transpose(y), dimensions={{1,0}}\n  \
         ROOT r = f32[{rows},30] dot(x, t), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}\n"
    );
    let mut module = parse(&text, &ParseOptions::default()).expect("valid").module;
    assert_eq!(QuantizedDotRewriter.run(&mut module, &Context::new()).expect("fits"), 1);
    assert!(rxla_hlo::verify(&module).is_empty());
    types(&module)
}

#[test]
fn bytes_stay_bytes_where_they_can() {
    assert_eq!(product(0, 0, 4), ["s8", "s8"]);
    assert_eq!(product(-128, 0, 4), ["u8", "s8"]);
    assert_eq!(product(0, -128, 4), ["s8", "u8"]);
    assert_eq!(product(5, 0, 4), ["s16", "s8"]);
    assert_eq!(product(5, 0, 64), ["s8", "s8"]);
    assert_eq!(product(5, -128, 64), ["s8", "u8"]);
    assert_eq!(product(5, 7, 64), ["s16", "s16"]);
}

/// Whether a product of so many, with such a scale for each of the two columns, stays as it is.
fn stays(depth: i64, scales: &str, dimension: i64) -> bool {
    let text = format!(
        "HloModule m\nENTRY e {{\n  p = s8[2,{depth}] parameter(0)\n  q = u8[{depth},2] parameter(1)\n  \
         x = f32[2,{depth}] convert(p)\n  f = f32[{depth},2] convert(q)\n  \
         s = f32[2] constant({scales})\n  b = f32[{depth},2] broadcast(s), dimensions={{{dimension}}}\n  \
         y = f32[{depth},2] multiply(b, f)\n  \
         ROOT r = f32[2,2] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}\n"
    );
    let mut module = parse(&text, &ParseOptions::default()).expect("valid").module;
    QuantizedDotRewriter.run(&mut module, &Context::new()).expect("fits") == 0
}

#[test]
fn what_could_overflow_stays() {
    let longest = i64::from(i32::MAX) / (128 * 255);
    assert!(!stays(longest, "{0.5, 0.25}", 1));
    assert!(stays(longest + 1, "{0.5, 0.25}", 1));
    for scales in ["{0.5, 1e-38}", "{1e30, 1}", "{0.5, nan}", "{inf, 1}", "{0, 1}"] {
        assert!(stays(2, scales, 1), "{scales}");
    }
}

#[test]
fn scales_along_what_is_summed_stay() {
    assert!(stays(2, "{0.5, 0.25}", 0));
}
