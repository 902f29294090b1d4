//! Runs a model that JAX has exported, without Python:
//! `cargo run -p rxla --example jax_export`.
//!
//! The model is a small network of two layers, written by
//! `jax.export.export(jax.jit(mlp))(…).serialize()`.

use rxla::hlo::Literal;
use rxla::{Client, Format, Result};

fn main() -> Result<()> {
    let model = include_bytes!("../tests/data/mlp.jax_export");
    let client = Client::cpu()?;
    let program = client.compile_bytes(Format::JaxExport, model)?;
    let even = |count: usize, from: f32, to: f32| -> Vec<f32> {
        (0..count).map(|i| from + (to - from) * i as f32 / (count - 1) as f32).collect()
    };
    let arguments = [
        Literal::from_values([3, 4], &even(12, -1.0, 1.0)),
        Literal::from_values([4], &[0.0f32, 0.1, 0.2, 0.3]),
        Literal::from_values([4, 2], &even(8, -0.5, 0.5)),
        Literal::from_values([2, 3], &[1.0f32, 2.0, 3.0, -1.0, 0.0, 1.0]),
    ];
    let arguments =
        arguments.into_iter().map(|value| client.buffer(value)).collect::<Result<Vec<_>>>()?;
    for output in program.run(&arguments)? {
        let array = output.array()?;
        // An example talks to people.
        #[allow(clippy::print_stdout)]
        {
            println!("{} {:?}", array.shape(), array.values::<f32>());
        }
    }
    Ok(())
}
