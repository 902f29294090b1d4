//! The HLO IR: programs over tensors, as XLA writes them.
//!
//! HLO stands for *high-level operations*. A program is a graph of some hundred and thirty kinds of
//! operations on arrays; there are no variables, no addresses and no side effects but a few that say
//! so. Front ends (JAX, PyTorch/XLA, TensorFlow) write it, passes rewrite it, and a backend turns what
//! is left into loops. This crate is that language and nothing else: it knows no backend, no
//! protobuf and no LLVM.
//!
//! # A first module
//!
//! ```text
//! HloModule mean, entry_computation_layout={(f32[4]{0})->f32[]}
//!
//! sum {
//!   a = f32[] parameter(0)
//!   b = f32[] parameter(1)
//!   ROOT add = f32[] add(a, b)
//! }
//!
//! ENTRY main {
//!   x = f32[4]{0} parameter(0)
//!   zero = f32[] constant(0)
//!   total = f32[] reduce(x, zero), dimensions={0}, to_apply=sum
//!   four = f32[] constant(4)
//!   ROOT mean = f32[] divide(total, four)
//! }
//! ```
//!
//! A [`Module`] holds [`Computation`]s, which are functions: parameters, instructions, and one *root*
//! whose value is returned. One of them is the *entry*. The others are called: by `call`, by `while`
//! and `conditional`, and by ops such as `reduce` and `sort` that take a small function as attribute.
//! Recursion does not exist.
//!
//! An [`Instruction`] is one operation: an [`Op`] (the opcode with its attributes), a [`Shape`] (the
//! type of its value), and operands, which are other instructions of the same computation. It stands
//! for its value: there is one definition and any number of users. The order of instructions in a
//! computation has no meaning until a schedule gives it one; what must come first is what is an
//! operand, or what a *control edge* puts before.
//!
//! # Values and their types
//!
//! A shape is an array (`f32[2,3]`: an [`ElementType`] and sizes), a tuple of shapes, or a *token*,
//! which carries nothing but order. Rank 0 is a scalar; a size may be 0, and then there are no
//! elements. A dimension may be dynamic (`f32[<=8]`): as long as a value known only when the program
//! runs, up to a bound. Nothing is broadcast or promoted implicitly: `add` takes two operands of one
//! shape, and a `broadcast` or `convert` says where one was needed.
//!
//! A [`Layout`] says how an array lies in memory: `{1,0}` lists dimensions from the fastest varying
//! one, so it is row-major. Layouts matter at the borders of a program and after layout assignment; the
//! meaning of a program does not depend on them.
//!
//! A [`Literal`] is a value on the host, dense and row-major whatever its shape's layout says.
//!
//! # The op table
//!
//! [`op`] lists every opcode once: name, number of operands, attributes. `Op` is a closed enum, and
//! matches on it name every variant, so that a new op is one row and then the arms that the compiler
//! asks for. The verifier, the printer, the parser and [`infer`] all work from it.
//!
//! [`infer`] gives the shape of an instruction from its op and its operands' shapes, or says which
//! rule the two break. Builder, parser and verifier share it; there is no second opinion.
//!
//! # Making, reading, checking, writing
//!
//! ```
//! use rxla_hlo::text::{ParseOptions, PrintOptions, parse, print};
//! use rxla_hlo::{ArrayShape, BinaryKind, ElementType, Module, verify};
//!
//! // The builder infers shapes and refuses what does not fit.
//! let mut module = Module::new("double");
//! let main = module.add_computation("main");
//! let x = module.add_parameter(main, "x", ArrayShape::new(ElementType::F32, [4]));
//! let root = module.add_binary(main, BinaryKind::Add, x, x).unwrap();
//! module.set_root(root);
//! module.set_entry(main);
//! assert!(verify(&module).is_empty());
//!
//! // Text is the interchange format: what is printed reads back. (A reader settles the layouts at
//! // the program's border, so it is the second text that no longer changes.)
//! let reprint = |text: &str| {
//!     let module = parse(text, &ParseOptions::default()).unwrap().module;
//!     print(&module, &PrintOptions::default())
//! };
//! let text = reprint(&print(&module, &PrintOptions::default()));
//! assert!(text.contains("ROOT %add = f32[4] add(%x, %x)"));
//! assert_eq!(reprint(&text), text);
//!
//! // What is wrong is said with place and both sides, all findings at once.
//! let wrong = "HloModule m\nENTRY e {\n x = f32[4] parameter(0)\n ROOT y = f32[5] negate(x)\n}";
//! match parse(wrong, &ParseOptions::default()) {
//!     Err(diagnostics) => assert!(!diagnostics.is_empty()),
//!     Ok(parsed) => assert!(!verify(&parsed.module).is_empty()),
//! }
//! ```
//!
//! # Rewriting
//!
//! Instructions and computations live in arenas of the module and are named by ids ([`InstructionId`],
//! [`ComputationId`]) that are never used twice. The links between operands and users are edited only
//! by the functions of [`Module`]. A rewrite makes its instructions through [`Module::add_like`] or
//! [`Module::replace_with`]: they carry over what the reader of a profile or an error needs (metadata,
//! sharding, control edges). What is no longer used is removed later, all at once.
//!
//! A module has a [`Phase`] that only moves forward: as it is compiled, more is promised (layouts are
//! there, instructions are scheduled) and the verifier checks that much more.

mod builder;
pub mod cost;
mod element_type;
mod infer;
mod layout;
pub mod literal;
mod metadata;
mod module;
pub mod native;
pub mod op;
mod shape;
pub mod shape_record;
mod sharding;
pub mod small_float;
pub mod text;
pub mod verify;

pub use element_type::{ElementType, TypeClass};
pub use infer::infer;
pub use layout::{DimLevel, DimLevelKind, Layout, SplitConfig, Tile};
pub use literal::{ArrayLiteral, Literal};
pub use metadata::*;
pub use module::*;
pub use op::{BinaryKind, Op, UnaryKind};
pub use shape::{ArrayShape, Dims, ProgramShape, Shape};
pub use sharding::*;
pub use verify::{verify, verify_with_spans};
