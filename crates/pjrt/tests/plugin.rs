//! The built library, loaded as frameworks load it.

use std::path::PathBuf;
use std::process::Command;

/// The plugin beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let deps = test.parent().expect("the test lies in a folder");
    let name = "librxla_pjrt.so";
    [deps.join(name), deps.with_file_name(name)]
        .into_iter()
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("`{name}` is not in `{}`", deps.display()))
}

/// Null and garbage arguments of every size are answered, not crashed on.
#[test]
fn abuse_is_survived() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/abuse.c");
    let program = std::env::temp_dir().join(format!("rxla-abuse-{}", std::process::id()));
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-o"])
        .arg(&program)
        .args([source, "-ldl"])
        .status();
    match compiled {
        Ok(status) => assert!(status.success(), "the C program does not compile"),
        Err(error) => {
            eprintln!("not run: there is no C compiler `cc` ({error})");
            return;
        }
    }
    let output = Command::new(&program).arg(library()).output().expect("the program starts");
    let _ = std::fs::remove_file(&program);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{:?}: {text}", output.status);
    let numbers: Vec<usize> =
        text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [functions, calls, errors] = numbers[..] else { panic!("no figures in `{text}`") };
    assert_eq!(functions, 138);
    // A call without arguments fails always, with garbage nearly so: a few functions need nothing
    // but a struct of their size.
    assert!(errors * 10 > calls * 9, "{errors} of {calls} calls were refused");
}
