//! Candidates in processes of their own.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rxla_base::{Error, Result};
use rxla_hlo::Literal;

use super::judge;
use super::reduce::Candidate;
use crate::output;

/// What came of a candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Agrees,
    /// All that it computes is NaN or infinite, which shows nothing.
    Blind,
    Differs(String),
    /// The same, but so would the interpreter's own result if the last bits of the arguments were others:
    /// rounding may explain it.
    Unstable(String),
    /// It gives an error where the interpreter gives a value.
    Fails(String),
    Crashes(String),
    /// The interpreter has no value either, or nothing is compiled.
    Unjudged(String),
}

impl Verdict {
    /// Whether it is the same fault, as far as can be told.
    pub(super) fn is_like(&self, other: &Verdict) -> bool {
        match (self, other) {
            // Of what may be rounding a part is looked for that cannot be.
            (_, Verdict::Unstable(_)) => matches!(self, Verdict::Differs(_)),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Agrees => f.write_str("compiled code agrees with the interpreter"),
            Verdict::Blind => f.write_str("the results have no finite number to compare"),
            Verdict::Differs(how) => write!(f, "compiled code differs: {how}"),
            Verdict::Unstable(how) => write!(
                f,
                "compiled code differs: {how}\nbut the result follows from the last bits of the arguments: rounding \
                 alone may do this"
            ),
            Verdict::Fails(how) => write!(f, "compiled code fails: {how}"),
            Verdict::Crashes(how) => write!(f, "the process ends: {how}"),
            Verdict::Unjudged(why) => write!(f, "nothing to compare: {why}"),
        }
    }
}

/// How many times as long as compiled code the interpreter may take.
const INTERPRETER: u32 = 20;

/// Who is at work in a trial.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Interpreted,
    Compiled,
}

impl Phase {
    fn of(said: &str) -> Phase {
        match said.lines().last() {
            Some(judge::COMPILES) => Phase::Compiled,
            _ => Phase::Interpreted,
        }
    }
}

pub(super) struct Trial {
    program: PathBuf,
    folder: PathBuf,
    flags: String,
    tolerance: Option<f64>,
    timeout: Duration,
}

impl Trial {
    pub(super) fn new(folder: &Path, tolerance: Option<f64>, seconds: f64) -> Result<Trial> {
        let program = std::env::current_exe()
            .map_err(|error| Error::internal(format!("cannot run myself: {error}")))?;
        Ok(Trial {
            program,
            folder: folder.to_owned(),
            flags: std::env::var("RXLA_FLAGS").unwrap_or_default(),
            tolerance,
            timeout: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
        })
    }

    /// Writes a candidate as a snapshot.
    pub(super) fn write(&self, candidate: &Candidate, path: &Path) -> Result<()> {
        let mut leaves = Vec::new();
        candidate.values.iter().for_each(|value| flatten(value, &mut leaves));
        let bytes = rxla_dump::encode_snapshot(&candidate.module, &leaves, None)?;
        output::to(Some(path), &bytes)
    }

    /// Runs a candidate with these flags beside those of the environment.
    pub(super) fn judge(&self, candidate: &Candidate, flags: &str) -> Result<Verdict> {
        let mut arguments = Vec::new();
        if let Some(tolerance) = self.tolerance {
            arguments.extend(["--tolerance".to_owned(), tolerance.to_string()]);
        }
        let (status, said, errors) = self.run(candidate, flags, &arguments)?;
        let phase = Phase::of(&said);
        let said = said.lines().last().unwrap_or("");
        let (verdict, rest) = said.trim_end().split_once(' ').unwrap_or((said.trim_end(), ""));
        let rest = rest.to_owned();
        Ok(match (verdict, status) {
            (_, None) if phase == Phase::Compiled => {
                Verdict::Crashes(format!("no result after {:?}", self.timeout))
            }
            (_, None) => Verdict::Unjudged(format!(
                "the interpreter takes longer than {:?}; `--timeout` gives it more",
                self.timeout * INTERPRETER
            )),
            ("agrees", _) => Verdict::Agrees,
            ("blind", _) => Verdict::Blind,
            ("differs", _) => Verdict::Differs(rest),
            ("unstable", _) => Verdict::Unstable(rest),
            ("fails", _) => Verdict::Fails(rest),
            ("unjudged", _) => Verdict::Unjudged(rest),
            (_, Some(status)) => {
                let last = errors.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
                Verdict::Crashes(format!("{status} {last}").trim_end().to_owned())
            }
        })
    }

    /// Runs the passes only and writes what they make to `path`: the number of rewrites, and the
    /// pass that made the last. `None` if the process ends before that.
    pub(super) fn optimized(
        &self,
        candidate: &Candidate,
        flags: &str,
        path: &Path,
    ) -> Result<Option<(u64, String)>> {
        let arguments = ["--optimized".to_owned(), path.to_string_lossy().into_owned()];
        let (_, said, _) = self.run(candidate, flags, &arguments)?;
        let parts = said.trim_end().split_once(' ');
        Ok(parts.and_then(|(count, pass)| Some((count.parse().ok()?, pass.to_owned()))))
    }

    /// How the process ended, if it did in time, and what it said.
    fn run(
        &self,
        candidate: &Candidate,
        flags: &str,
        arguments: &[String],
    ) -> Result<(Option<ExitStatus>, String, String)> {
        let file = self.folder.join("candidate.hlo_snapshot.pb");
        self.write(candidate, &file)?;
        let (said, errors) = (self.folder.join("said.txt"), self.folder.join("errors.txt"));
        let create = |path: &Path| {
            std::fs::File::create(path).map_err(|error| {
                Error::invalid_argument(format!("cannot write `{}`: {error}", path.display()))
            })
        };
        // Candidates leave no dumps and no traces.
        let flags = format!("{} {flags} --xla_dump_to= --rxla_trace_to=", self.flags);
        let mut child = Command::new(&self.program)
            .arg("judge")
            .arg(&file)
            .args(arguments)
            .env("RXLA_FLAGS", flags)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(create(&said)?)
            .stderr(create(&errors)?)
            .spawn()
            .map_err(|error| Error::internal(format!("cannot start a trial: {error}")))?;
        let mut started = Instant::now();
        let mut phase = Phase::Interpreted;
        let status = loop {
            let now = Phase::of(&std::fs::read_to_string(&said).unwrap_or_default());
            if now != phase {
                (phase, started) = (now, Instant::now());
            }
            let timeout = match phase {
                Phase::Interpreted => self.timeout * INTERPRETER,
                Phase::Compiled => self.timeout,
            };
            let ended = child.try_wait();
            match ended.map_err(|error| Error::internal(format!("lost a trial: {error}")))? {
                Some(status) => break Some(status),
                None if started.elapsed() > timeout => {
                    // It may have ended just now.
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let read = |path: &Path| {
            String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
        };
        let answer = (status, read(&said), read(&errors));
        for path in [&file, &said, &errors] {
            // They are written anew for the next one.
            let _ = std::fs::remove_file(path);
        }
        Ok(answer)
    }
}

fn flatten(value: &Literal, leaves: &mut Vec<Literal>) {
    match value {
        Literal::Tuple(elements) => elements.iter().for_each(|element| flatten(element, leaves)),
        Literal::Array(_) | Literal::Token => leaves.push(value.clone()),
    }
}
