//! Recognises handwritten digits with a model compiled ahead of time; see README.md.
//!
//!     ./digits images.f32 labels.i32 [logits.f32]

use std::ffi::{c_int, c_void};
use std::path::Path;

// What `digits.h` says.
const IMAGES: usize = 64;
const PIXELS: usize = 64;
const CLASSES: usize = 10;

unsafe extern "C" {
    fn digits_run(
        inputs: *const *const c_void,
        outputs: *const *mut c_void,
        workspace: *mut c_void,
    ) -> c_int;
}

/// Memory as the model wants it.
#[repr(align(64))]
struct Aligned<T>(T);

/// One run of the model. `WORKSPACE` is `DIGITS_WORKSPACE_BYTES` or more.
fn recognise<const WORKSPACE: usize>(images: &[f32; IMAGES * PIXELS]) -> Vec<f32> {
    let mut logits = Aligned([0f32; IMAGES * CLASSES]);
    let mut workspace = Box::new(Aligned([0u8; WORKSPACE]));
    let inputs = [images.as_ptr().cast::<c_void>()];
    let outputs = [logits.0.as_mut_ptr().cast::<c_void>()];
    // SAFETY: one input, one output and a workspace of the sizes that the header says, aligned.
    let status = unsafe {
        digits_run(inputs.as_ptr(), outputs.as_ptr(), workspace.0.as_mut_ptr().cast::<c_void>())
    };
    assert_eq!(status, 0, "the model failed");
    logits.0.to_vec()
}

fn words(path: impl AsRef<Path>) -> Vec<[u8; 4]> {
    let bytes = std::fs::read(path).expect("a file");
    bytes.chunks_exact(4).map(|word| word.try_into().unwrap()).collect()
}

fn main() {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [images, labels, rest @ ..] = &paths[..] else { panic!("images, labels and perhaps logits") };
    let images: Vec<f32> = words(images).into_iter().map(f32::from_le_bytes).collect();
    let labels: Vec<i32> = words(labels).into_iter().map(i32::from_le_bytes).collect();
    const WORKSPACE: usize = 1 << 20;
    let logits = recognise::<WORKSPACE>(images.as_slice().try_into().expect("64 images"));
    let best = |row: &[f32]| (0..CLASSES).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
    let rows = logits.chunks(CLASSES).zip(&labels);
    let right = rows.filter(|(row, label)| best(row) == **label as usize).count();
    println!("{right} of {IMAGES} digits recognised");
    if let Some(path) = rest.first() {
        let bytes: Vec<u8> = logits.iter().flat_map(|logit| logit.to_le_bytes()).collect();
        std::fs::write(path, bytes).expect("written");
    }
}
