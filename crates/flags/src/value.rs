//! The types that flags have, from text and back.

/// A type of flags.
pub trait Value: Sized {
    const NAME: &'static str;

    /// The value, or what would have been one.
    fn parse(text: &str) -> Result<Self, String>;

    fn show(&self) -> String;
}

impl Value for bool {
    const NAME: &'static str = "bool";

    /// A flag without a value is on.
    fn parse(text: &str) -> Result<bool, String> {
        match text.to_ascii_lowercase().as_str() {
            "" | "true" | "1" | "yes" => Ok(true),
            "false" | "0" | "no" => Ok(false),
            _ => Err("`true` or `false`".to_owned()),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for i64 {
    const NAME: &'static str = "integer";

    fn parse(text: &str) -> Result<i64, String> {
        text.parse().map_err(|_| "a whole number".to_owned())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for String {
    const NAME: &'static str = "text";

    fn parse(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }

    fn show(&self) -> String {
        self.clone()
    }
}

impl Value for Vec<String> {
    const NAME: &'static str = "list, by commas";

    fn parse(text: &str) -> Result<Vec<String>, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        Ok(parts.map(str::to_owned).collect())
    }

    fn show(&self) -> String {
        self.join(",")
    }
}

/// A fault that is planted to see whether it is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Plant {
    #[default]
    None,
    Rule,
    Schedule,
    Reuse,
}

impl Plant {
    const ALL: [(Plant, &'static str); 4] = [
        (Plant::None, "none"),
        (Plant::Rule, "rule"),
        (Plant::Schedule, "schedule"),
        (Plant::Reuse, "reuse"),
    ];
}

impl Value for Plant {
    const NAME: &'static str = "none, rule, schedule or reuse";

    fn parse(text: &str) -> Result<Plant, String> {
        let found = Plant::ALL.iter().find(|(_, name)| *name == text);
        found.map(|(plant, _)| *plant).ok_or_else(|| Plant::NAME.to_owned())
    }

    fn show(&self) -> String {
        let found = Plant::ALL.iter().find(|(plant, _)| plant == self);
        found.map_or("", |(_, name)| *name).to_owned()
    }
}
