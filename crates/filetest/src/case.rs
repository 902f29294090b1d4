//! A test file in parts: header, input, expectation.

/// The line between input and expectation.
const SEPARATOR: &str = "// ---- expect";

/// A test file.
#[derive(Clone, Debug)]
pub struct Case {
    /// The word after `// test:`, and what follows it or an equals sign in it.
    pub mode: String,
    pub arguments: Vec<String>,
    /// The file without the expectation.
    pub input: String,
    pub expectation: Expectation,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expectation {
    /// The file has no line that separates one.
    Missing,
    Text(String),
}

impl Case {
    /// Takes a file apart. An error says that the header is missing.
    pub fn parse(text: &str) -> Result<Case, String> {
        let Some(header) = text.lines().find_map(|line| line.strip_prefix("// test: ")) else {
            return Err("the file has no line `// test: MODE`".to_owned());
        };
        let mut words = header.split_whitespace().map(str::to_owned);
        let mode = words.next().ok_or("`// test:` names no mode")?;
        // `passes=dce` is the mode `passes` with its main argument.
        let (mode, main) = match mode.split_once('=') {
            Some((mode, main)) => (mode.to_owned(), Some(main.to_owned())),
            None => (mode, None),
        };
        let mut input = String::new();
        let mut lines = text.split_inclusive('\n');
        let mut expectation = Expectation::Missing;
        for line in lines.by_ref() {
            if line.trim_end() == SEPARATOR {
                expectation = Expectation::Text(lines.collect());
                break;
            }
            input.push_str(line);
        }
        Ok(Case { mode, arguments: main.into_iter().chain(words).collect(), input, expectation })
    }

    /// The values of lines such as `// input: f32[2] {1, 2}`, in order.
    pub fn values<'a>(&'a self, key: &str) -> Vec<&'a str> {
        let prefix = format!("// {key}: ");
        let value = |line: &'a str| line.strip_prefix(prefix.as_str()).map(str::trim);
        self.input.lines().filter_map(value).collect()
    }

    /// The file with another expectation.
    pub fn with_expectation(&self, expectation: &str) -> String {
        let mut out = self.input.trim_end().to_owned();
        out.push_str("\n\n");
        out.push_str(SEPARATOR);
        out.push('\n');
        // As comments, so that the whole file stays a module that other tools read.
        for line in expectation.trim_end().lines() {
            out.push_str(if line.is_empty() { "//" } else { "// " });
            out.push_str(line);
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let text =
            "// test: print short\n// input: a\nHloModule m\n\n// ---- expect\n// x\n//\n// y\n";
        let case = Case::parse(text).unwrap();
        assert_eq!((case.mode.as_str(), &case.arguments[..]), ("print", &["short".to_owned()][..]));
        assert_eq!(case.values("input"), ["a"]);
        assert_eq!(case.expectation, Expectation::Text("// x\n//\n// y\n".to_owned()));
        assert_eq!(case.with_expectation("x\n\ny"), text);
        assert!(Case::parse("HloModule m").is_err());
        let case = Case::parse("// test: passes=dce,cse metadata\n").unwrap();
        assert_eq!(
            (case.mode.as_str(), case.arguments.join(" ")),
            ("passes", "dce,cse metadata".to_owned())
        );
    }
}
