//! `rxla passes`: what there is to run.

use clap::Args;
use rxla_base::Result;
use rxla_passes::{ALL, PIPELINES};

use crate::{Answer, output};

#[derive(Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments) -> Result<Answer> {
    let mut text = String::from("Passes, with the class of XLA that each stands for:\n");
    for pass in ALL {
        text.push_str(&format!("  {:<32} {}\n", pass.name(), pass.class()));
    }
    for pipeline in PIPELINES {
        text.push_str(&format!("\nPipeline `{}`: {}\n", pipeline.name, pipeline.about));
        for line in (pipeline.build)().describe().lines() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    output::result(&text)?;
    Ok(Answer::Yes)
}
