//! Static libraries: the format of `ar`, with the index that linkers want.

const MAGIC: &[u8] = b"!<arch>\n";

/// A library of one object that defines these names.
pub fn archive(object: &[u8], member: &str, names: &[&str]) -> Vec<u8> {
    // GNU's way: the index is a member of its own, and so are names too long for the head.
    let mut index = (names.len() as u32).to_be_bytes().to_vec();
    let strings: usize = names.iter().map(|name| name.len() + 1).sum();
    let index_bytes = 4 + 4 * names.len() + strings;
    let long = format!("{member}/\n");
    let place = MAGIC.len() + HEAD + even(index_bytes) + HEAD + even(long.len());
    for _ in names {
        index.extend((place as u32).to_be_bytes());
    }
    for name in names {
        index.extend(name.as_bytes());
        index.push(0);
    }
    let mut out = MAGIC.to_vec();
    for (name, data) in [("/", index.as_slice()), ("//", long.as_bytes()), ("/0", object)] {
        out.extend(head(name, data.len()));
        out.extend(data);
        if !data.len().is_multiple_of(2) {
            out.push(b'\n');
        }
    }
    out
}

const HEAD: usize = 60;

fn even(bytes: usize) -> usize {
    bytes.next_multiple_of(2)
}

/// Dates and owners are zero, so that equal programs give equal files.
fn head(name: &str, bytes: usize) -> Vec<u8> {
    let head = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{bytes:<10}`\n", 0, 0, 0, 644);
    head.into_bytes()
}

#[cfg(test)]
mod tests {
    use object::read::archive::ArchiveFile;

    use super::*;

    #[test]
    fn readers_find_the_object_and_its_names() {
        for object in [&b"four"[..], b"seven.."] {
            let bytes = archive(object, "a_rather_long_name.o", &["f_run", "f_set_threads"]);
            let archive = ArchiveFile::parse(&*bytes).unwrap();
            let symbols = archive.symbols().unwrap().unwrap();
            let symbols: Vec<_> = symbols.map(|symbol| symbol.unwrap()).collect();
            let names: Vec<&[u8]> = symbols.iter().map(|symbol| symbol.name()).collect();
            assert_eq!(names, [&b"f_run"[..], b"f_set_threads"]);
            for symbol in symbols {
                let member = archive.member(symbol.offset()).unwrap();
                assert_eq!(member.name(), b"a_rather_long_name.o");
                assert_eq!(member.data(&*bytes).unwrap(), object);
            }
        }
    }
}
