//! Every op, run from HLO text over element types and edge shapes.

mod common;
mod control;
mod coverage;
mod devices;
mod host;
mod movement;
mod numbers;
mod reducers;
