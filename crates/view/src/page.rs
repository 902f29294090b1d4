//! The page around the model: one HTML file with styles, scripts, the layout library and the data.

/// All stand in one scope; what they do at once, rather than when called, goes in this order.
const SCRIPTS: &[&str] = &[
    include_str!("../assets/model.js"),
    include_str!("../assets/layout.js"),
    include_str!("../assets/scene.js"),
    include_str!("../assets/canvas.js"),
    include_str!("../assets/panels.js"),
    include_str!("../assets/buffers.js"),
    include_str!("../assets/state.js"),
    include_str!("../assets/graph.js"),
    include_str!("../assets/selection.js"),
    include_str!("../assets/search.js"),
    include_str!("../assets/files.js"),
    include_str!("../assets/lists.js"),
    include_str!("../assets/main.js"),
];
const STYLE: &str = include_str!("../assets/style.css");
const BODY: &str = include_str!("../assets/body.html");
/// Runs in a worker, made from these two texts.
const WORKER: &str = include_str!("../assets/worker.js");
const DAGRE: &str = include_str!("../assets/dagre/dagre.min.js");

/// `json` must be escaped for a `script` element.
pub(crate) fn html(title: &str, json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 200_000);
    let mut push = |parts: &[&str]| parts.iter().for_each(|part| out.push_str(part));
    push(&[
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
        // Nothing is fetched, whatever a browser may find in here.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; worker-src blob:\">\n",
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
        &escape(title),
        " · rxla view</title>\n<style>\n",
        STYLE,
        "</style>\n</head>\n<body>\n",
        BODY,
        // Texts of another type are data to the browser: the first becomes the worker.
        "<script type=\"text/plain\" id=\"worker\">\n",
        DAGRE,
        "\n",
        WORKER,
        "</script>\n<script type=\"application/json\" id=\"model\">",
        json,
        "</script>\n<script>\n\"use strict\";\n(() => {\n",
    ]);
    SCRIPTS.iter().for_each(|script| push(&[script, "\n"]));
    push(&["})();\n</script>\n</body>\n</html>\n"]);
    out
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use rxla_hlo::text::{ParseOptions, parse};

    use super::*;
    use crate::{Options, Step, Text, TextKind, Time, page};

    #[test]
    fn assets_cannot_end_their_elements() {
        for script in SCRIPTS.iter().chain([&WORKER, &DAGRE]) {
            let script = script.to_lowercase();
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
        assert!(!STYLE.to_lowercase().contains("</style"));
    }

    #[test]
    fn scripts_make_no_markup_of_strings_and_fetch_nothing() {
        for script in SCRIPTS {
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
            {
                assert!(!script.contains(word), "{word}");
            }
            for word in ["fetch(", "XMLHttpRequest", "http://", "https://", "import("] {
                assert!(!script.contains(word), "{word}");
            }
        }
    }

    #[test]
    fn what_a_dump_says_stays_data() {
        let attack = "</script><script>alert(1)</script>";
        let text = format!(
            "HloModule m\nENTRY e {{\n ROOT x = f32[] parameter(0), \
             metadata={{op_name=\"{attack}\"}}, frontend_attributes={{a=\"{attack}\"}}\n}}"
        );
        let module = parse(&text, &ParseOptions::default()).expect("the text is right").module;
        let clean = |title: &str, text: &str| {
            let options = Options {
                title: title.to_owned(),
                texts: vec![Text {
                    program: text.to_owned(),
                    title: text.to_owned(),
                    kind: TextKind::Other,
                    text: text.to_owned(),
                }],
                times: vec![Time {
                    module: text.to_owned(),
                    instruction: text.to_owned(),
                    microseconds: 1.0,
                }],
            };
            page(&[Step { program: text, title: text, module: &module }], &options)
        };
        let count = |page: &str, what: &str| page.matches(what).count();
        let (good, bad) = (clean("t", "t"), clean(attack, attack));
        assert_eq!(count(&good, "</script"), count(&bad, "</script"));
        assert_eq!(count(&good, "<script"), count(&bad, "<script"));
        assert!(bad.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
        assert!(bad.contains("\\u003c/script\\u003e\\u003cscript\\u003ealert(1)"));
    }
}
