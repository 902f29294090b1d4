//! Texts that are too deep, too long, cut off or broken: a diagnostic, never a crash. The kinds are
//! those that crash collections of XLA's parser hold.

use rxla_hlo::text::{
    ParseOptions, PrintOptions, parse, parse_literal, parse_original_value, parse_shape,
    parse_sharding, print,
};

fn fails(text: &str) -> String {
    match parse(text, &ParseOptions::default()) {
        Ok(_) => panic!("accepted: {}", &text[..text.len().min(200)]),
        Err(diagnostics) => diagnostics[0].message.clone(),
    }
}

#[test]
fn depth_is_limited() {
    const DEPTH: usize = 100_000;
    let tuple = format!("{}f32[]{}", "(".repeat(DEPTH), ")".repeat(DEPTH));
    let too_deep = "nested deeper than 128 levels";
    assert_eq!(fails(&format!("ENTRY e {{ ROOT a = {tuple} parameter(0) }}")), too_deep);
    assert!(parse_shape(&tuple).is_err());
    assert!(parse_shape(&"b(".repeat(DEPTH)).is_err());
    let operands = format!("{}a{}", "negate(".repeat(DEPTH), ")".repeat(DEPTH));
    let text = format!("ENTRY e {{ a = f32[] parameter(0) ROOT b = f32[] {operands} }}");
    assert_eq!(fails(&text), too_deep);
    let bodies = "{ ROOT c = f32[] call(), to_apply=".repeat(DEPTH);
    assert_eq!(fails(&format!("ENTRY e {bodies}")), too_deep);
    assert!(parse_literal(&"(".repeat(DEPTH)).is_err());
    assert!(parse_original_value(&format!("{{{}", "(".repeat(DEPTH))).is_err());
    assert!(parse_sharding(&"{".repeat(DEPTH)).is_err());
    let braces = "{".repeat(DEPTH);
    fails(&format!("ENTRY e {{ ROOT a = f32[2] parameter(0), backend_config={braces} }}"));
    fails(&format!("ENTRY e {{ ROOT a = f32[2] constant({braces}) }}"));
}

#[test]
fn nesting_below_the_limit_is_read() {
    const DEPTH: usize = 100;
    let tuple = format!("{}f32[]{}", "(".repeat(DEPTH), ")".repeat(DEPTH));
    assert!(
        parse(&format!("ENTRY e {{ ROOT a = {tuple} parameter(0) }}"), &ParseOptions::default())
            .is_ok()
    );
    let operands = format!("{}a{}", "negate(".repeat(DEPTH), ")".repeat(DEPTH));
    let text = format!("ENTRY e {{ a = f32[] parameter(0) ROOT b = f32[] {operands} }}");
    // The outermost has a shape, the others are inferred.
    assert!(parse(&text, &ParseOptions::default()).is_ok());
}

#[test]
fn long_chains_are_read_and_printed() {
    const LENGTH: usize = 50_000;
    let mut text = "ENTRY e {\n  a0 = f32[] parameter(0)\n".to_owned();
    for index in 1..LENGTH {
        text.push_str(&format!("  a{index} = f32[] add(a{}, a0)\n", index - 1));
    }
    text.push('}');
    let parsed = parse(&text, &ParseOptions::default()).unwrap();
    for options in [PrintOptions::complete(), PrintOptions::default()] {
        assert_eq!(print(&parsed.module, &options).lines().count(), LENGTH + 5);
    }
}

#[test]
fn bodies_that_would_print_exponentially_are_bounded() {
    let mut text = "c0 { ROOT p = f32[] parameter(0) }\n".to_owned();
    for index in 1..200 {
        text.push_str(&format!(
            "c{index} {{ p = f32[] parameter(0) ROOT q = f32[] call(p), to_apply=c{} }}\n",
            index - 1
        ));
    }
    let parsed = parse(&text, &ParseOptions::default()).unwrap();
    assert!(print(&parsed.module, &PrintOptions::canonical()).len() < 10_000_000);
}

const SAMPLE: &str = r#"HloModule m, input_output_alias={ {}: (0, {}, may-alias) }, entry_computation_layout={(f32[2]{0})->f32[2]{0}}
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e (x: f32[2]) -> f32[2] {
  x = f32[2]{0:T(8)S(1)} parameter(0), sharding={devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  y = f32[2]{0} constant({1, -nan(0x7)}), metadata={op_name="a\"b" source_line=3}, origin={({"x"}, {"y" {1}})}
  c = c64[1] constant({(1, 2)})
  r = f32[] reduce(x, f32[] constant(0)), dimensions={0}, to_apply=add
  s = f32[1] slice(x), slice={[0:1:1]}, statistics={visualizing_index=0,a=1.5}
  w = f32[2] all-reduce(x), replica_groups=[1,2]<=[2], to_apply=add, backend_config={"a":"}"}
  ROOT z = f32[2] custom-call(x, y), custom_call_target="t", window={size=3 pad=1_1}, dim_labels=bf0_io0->bf0, control-predecessors={w}
}
"#;

/// Every beginning of a text, and the text without each of its bytes, is read or refused.
#[test]
fn cut_texts_are_refused() {
    let options = ParseOptions::default();
    assert!(parse(SAMPLE, &options).is_ok(), "the sample itself is read");
    for end in 0..SAMPLE.len() {
        let _ = parse(&SAMPLE[..end], &options);
        let without = format!("{}{}", &SAMPLE[..end], &SAMPLE[end + 1..]);
        if let Ok(parsed) = parse(&without, &options) {
            let text = print(&parsed.module, &PrintOptions::complete());
            assert!(parse(&text, &options).is_ok(), "printed text is read again:\n{text}");
        }
    }
}

#[test]
fn many_gaps_of_parameters_take_no_memory() {
    let mut text = String::new();
    for index in 0..1000 {
        text.push_str(&format!("c{index} {{ ROOT p = f32[] parameter(30000) }}\n"));
    }
    fails(&text);
}
