//! Ops that put elements elsewhere, alone and fused.

use super::{check, fused, one};

#[test]
fn broadcasts_and_iotas() {
    check(&one("f32[5,7]", "broadcast dimensions={}", &["f32[]"]));
    check(&one("f32[5,7]", "broadcast dimensions={1}", &["f32[7]"]));
    check(&one("f32[5,7]", "broadcast dimensions={0}", &["f32[5]"]));
    check(&one("c64[5,7,20]", "broadcast dimensions={0,2}", &["c64[5,20]"]));
    for ty in ["s32", "f32", "bf16", "u8", "s4", "c64"] {
        check(&one(&format!("{ty}[5,70]"), "iota iota_dimension=0", &[]));
        check(&one(&format!("{ty}[5,70]"), "iota iota_dimension=1", &[]));
    }
}

#[test]
fn reshapes() {
    for (from, to) in [
        ("24,6", "4,6,6"),
        ("2,3,4", "24"),
        ("24", "2,3,4"),
        ("6,4", "2,12"),
        ("4,6", "8,3"),
        ("6,4", "8,3"),
        ("1,7,1,5", "7,5"),
        ("7,5", "5,7"),
        ("1", ""),
        ("", "1,1"),
        ("30,50", "50,30"),
        ("128,3", "2,64,3"),
    ] {
        check(&one(&format!("f32[{to}]"), "reshape", &[&format!("f32[{from}]")]));
    }
}

#[test]
fn transposes_and_slices() {
    check(&one("f32[7,5]", "transpose dimensions={1,0}", &["f32[5,7]"]));
    check(&one("f32[40,70]", "transpose dimensions={1,0}", &["f32[70,40]"]));
    check(&one("bf16[2,70,40]", "transpose dimensions={0,2,1}", &["bf16[2,40,70]"]));
    check(&one("f64[33,16]", "transpose dimensions={1,0}", &["f64[16,33]"]));
    check(&one("pred[32,48]", "transpose dimensions={1,0}", &["pred[48,32]"]));
    check(&one("c64[33,40]", "transpose dimensions={1,0}", &["c64[40,33]"]));
    check(&one("c128[2,21,16]", "transpose dimensions={0,2,1}", &["c128[2,16,21]"]));
    // Short rows, of which every element comes from a row of its own.
    for columns in [3, 4, 5, 8, 12, 15] {
        let (to, from) = (format!("f32[70,{columns}]"), format!("f32[{columns},70]"));
        check(&one(&to, "transpose dimensions={1,0}", &[&from]));
    }
    check(&one("s8[20,3,35]", "transpose dimensions={2,1,0}", &["s8[35,3,20]"]));
    check(&one("f32[3,4,20,30]", "transpose dimensions={0,3,1,2}", &["f32[3,20,30,4]"]));
    check(&one("f32[2,20,30,17]", "transpose dimensions={0,2,3,1}", &["f32[2,17,20,30]"]));
    check(&one("c64[3,4,5,6]", "transpose dimensions={3,1,0,2}", &["c64[5,4,6,3]"]));
    check(&one("f32[3,20]", "slice slice={[1:4], [3:23]}", &["f32[5,30]"]));
    check(&one("f32[2,10]", "slice slice={[1:4:2], [3:23:2]}", &["f32[5,30]"]));
    check(&one("f32[5,30]", "reverse dimensions={0,1}", &["f32[5,30]"]));
    check(&one("s8[5,30]", "reverse dimensions={1}", &["s8[5,30]"]));
}

#[test]
fn pads() {
    check(&one("f32[8,40]", "pad padding=1_2x3_7", &["f32[5,30]", "f32[]"]));
    check(&one("f32[9,61]", "pad padding=0_0_1x1_1_1", &["f32[5,30]", "f32[]"]));
    check(&one("f32[4,24]", "pad padding=-1_0x-3_-3", &["f32[5,30]", "f32[]"]));
    check(&one("f32[13,59]", "pad padding=-1_-3_3x2_-2_1", &["f32[5,30]", "f32[]"]));
    check(&one("f32[7]", "pad padding=3_4", &["f32[0]", "f32[]"]));
}

#[test]
fn concatenations() {
    let three = ["f32[2,30]", "f32[5,30]", "f32[1,30]"];
    check(&one("f32[8,30]", "concatenate dimensions={0}", &three));
    let three = ["f32[5,10]", "f32[5,0]", "f32[5,19]"];
    check(&one("f32[5,29]", "concatenate dimensions={1}", &three));
    check(&one("f32[3]", "concatenate dimensions={0}", &["f32[1]", "f32[1]", "f32[1]"]));
    let many: Vec<String> = (1..20).map(|size| format!("s32[{size},3]")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    check(&one("s32[190,3]", "concatenate dimensions={0}", &many));
}

/// More than there are pieces of a loop, of lengths of all kinds.
#[test]
fn concatenations_of_many() {
    let parts: Vec<String> = (0..70).map(|i| format!("f32[{}]", [1, 9, 100, 40][i % 4])).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    check(&one("f32[2560]", "concatenate dimensions={0}", &parts));
    let parts: Vec<String> = (1..=40).map(|i| format!("s32[3,{i}]")).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    check(&one("s32[3,820]", "concatenate dimensions={1}", &parts));
}

#[test]
fn fused_transposes() {
    check(
        "HloModule test
         ENTRY main {
           p = f32[40,50] parameter(0)
           q = f32[50,40] parameter(1)
           r = f32[40,50] parameter(2)
           s = f32[40] parameter(3)
           a = f32[50,40] transpose(p), dimensions={1,0}
           b = f32[50,40] transpose(r), dimensions={1,0}
           c = f32[50,40] multiply(a, b)
           d = f32[50,40] subtract(c, q)
           e = f32[50,40] broadcast(s), dimensions={1}
           f = f32[50,40] add(d, e)
           g = bf16[50,40] convert(f)
           ROOT t = (f32[50,40], bf16[50,40]) tuple(f, g)
         }",
    );
}

#[test]
fn rolls_and_stencils() {
    check(
        "HloModule test
         ENTRY main {
           p = f32[40,50] parameter(0)
           a = f32[40,13] slice(p), slice={[0:40], [37:50]}
           b = f32[40,37] slice(p), slice={[0:40], [0:37]}
           c = f32[40,50] concatenate(a, b), dimensions={1}
           zero = f32[] constant(0)
           d = f32[42,52] pad(p, zero), padding=1_1x1_1
           e = f32[40,50] slice(d), slice={[0:40], [2:52]}
           f = f32[40,50] add(c, e)
           g = f32[50,40] transpose(f), dimensions={1,0}
           h = f32[2000] reshape(g)
           ROOT r = f32[2000] negate(h)
         }",
    );
}

#[test]
fn dynamic_slices() {
    for indices in ["s32", "u8", "s64", "u64"] {
        let index = format!("{indices}[]");
        let op = "dynamic-slice dynamic_slice_sizes={3,20}";
        check(&one("f32[3,20]", op, &["f32[5,30]", &index, &index]));
        let operands = ["f32[5,30]", "f32[3,20]", &index, &index];
        check(&one("f32[5,30]", "dynamic-update-slice", &operands));
    }
    check(&one("f32[5,30]", "dynamic-update-slice", &["f32[5,30]", "f32[5,30]", "s32[]", "s32[]"]));
    check(&one("f32[5,30]", "dynamic-update-slice", &["f32[5,30]", "f32[1,0]", "s32[]", "s32[]"]));
    check(&one("f32[]", "dynamic-update-slice", &["f32[]", "f32[]"]));
}

#[test]
fn gathers() {
    let rows = "gather offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, \
                index_vector_dim=1, slice_sizes={1,30}";
    check(&one("f32[9,30]", rows, &["f32[50,30]", "s32[9,1]"]));
    check(&one("f32[9,30]", &rows.replace("dim=1", "dim=1"), &["f32[50,30]", "u8[9,1]"]));
    let flat = "gather offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, \
                index_vector_dim=1, slice_sizes={1}";
    check(&one("f32[40]", flat, &["f32[50]", "s32[40]"]));
    let windows = "gather offset_dims={0,2}, collapsed_slice_dims={}, start_index_map={1,0}, \
                   index_vector_dim=0, slice_sizes={2,3}";
    check(&one("f32[2,9,3]", windows, &["f32[8,7]", "s32[2,9]"]));
    let batched = "gather offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, \
                   operand_batching_dims={0}, start_indices_batching_dims={1}, \
                   index_vector_dim=2, slice_sizes={1,1,6}";
    check(&one("f32[5,4,6]", batched, &["f32[4,7,6]", "s32[5,4,1]"]));
}

#[test]
fn constants_of_several_elements() {
    check(
        "HloModule test
         ENTRY main {
           p = f32[4,30] parameter(0)
           c = f32[4] constant({1, 2.5, -3, 4})
           b = f32[4,30] broadcast(c), dimensions={0}
           s = f32[30] constant({...})
           ROOT r = f32[4,30] multiply(p, b)
         }"
        .replace("           s = f32[30] constant({...})\n", "")
        .as_str(),
    );
}

#[test]
fn updates_in_place() {
    // A row is read and written where it stands; another result is computed beside it.
    let text = "HloModule test
         ENTRY main {
           p = f32[50,6] parameter(0)
           i = s32[] parameter(1)
           zero = s32[] constant(0)
           row = f32[1,6] dynamic-slice(p, i, zero), dynamic_slice_sizes={1,6}
           next = f32[1,6] add(row, row)
           u = f32[50,6] dynamic-update-slice(p, next, i, zero)
           one = s32[] constant(1)
           j = s32[] add(i, one)
           v = f32[50,6] dynamic-update-slice(u, row, j, zero)
           ROOT r = (f32[50,6], s32[]) tuple(u, j)
         }";
    let (module, id) = fused(text);
    assert!(crate::in_place(&module, id, 0, 0));
    // The row's number is still needed when the next one is written.
    assert!(!crate::in_place(&module, id, 1, 1));
    check(text);
    // What another row reads is gone once it is written.
    let text = text.replace("tuple(u, j)", "tuple(v, j)");
    let (module, id) = fused(&text);
    assert!(!crate::in_place(&module, id, 0, 0));
    check(&text);
    let text = text.replace("(v, row, j", "(v, row, i").replace("(u, row, j", "(u, row, zero");
    check(&text);
}

#[test]
fn elementwise_in_place() {
    let text = one("f32[5,7]", "multiply", &["f32[5,7]", "f32[5,7]"]);
    let (module, id) = fused(&text);
    assert!(crate::in_place(&module, id, 0, 0) && crate::in_place(&module, id, 1, 0));
    let text = one("f32[5,5]", "transpose dimensions={1,0}", &["f32[5,5]"]);
    let (module, id) = fused(&text);
    assert!(!crate::in_place(&module, id, 0, 0));
    let text = one("s32[5,7]", "convert", &["f32[5,7]"]);
    let (module, id) = fused(&text);
    assert!(crate::in_place(&module, id, 0, 0));
}

#[test]
fn of_many_cuts_those_of_the_last_loop_stay() {
    let mut text = "HloModule test\nENTRY main {\n  x = f32[9,10,40] parameter(0)\n".to_owned();
    let sizes = [9, 10, 40];
    // What lies before and behind in each dimension, round the edges.
    for (dimension, size) in sizes.into_iter().enumerate() {
        for (name, at) in [("before", size - 1), ("behind", 1)] {
            let part = |low: i64, high: i64| -> (String, String) {
                let mut ends = sizes.map(|size| (0, size));
                ends[dimension] = (low, high);
                let shape = ends.map(|(low, high)| (high - low).to_string()).join(",");
                (shape, ends.map(|(low, high)| format!("[{low}:{high}]")).join(", "))
            };
            let parts = [part(at, size), part(0, at)];
            for (number, (shape, slice)) in parts.iter().enumerate() {
                text += &format!(
                    "  {name}_{dimension}_{number} = f32[{shape}] slice(x), slice={{{slice}}}\n"
                );
            }
            text += &format!(
                "  {name}_{dimension} = f32[9,10,40] concatenate({name}_{dimension}_0, {name}_{dimension}_1), dimensions={{{dimension}}}\n"
            );
        }
        text += &format!(
            "  sum_{dimension} = f32[9,10,40] add(before_{dimension}, behind_{dimension})\n"
        );
    }
    text += "  sum = f32[9,10,40] add(sum_0, sum_1)\n  ROOT r = f32[9,10,40] add(sum, sum_2)\n}\n";
    let (module, id) = fused(&text);
    let plan = crate::root::look(&module, id, &[]).unwrap().plan;
    let cuts = plan.nest(crate::plan::NestId::Results(0), &sizes).cuts;
    assert_eq!(cuts, [vec![], vec![1, 9], vec![1, 39]]);
    check(&text);
}
