//! Threefry 2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
//! SC 2011), and how XLA spreads its output over an array.

/// One block: two words out of two words of counter under a key of two.
fn block(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    const PARITY: u32 = 0x1BD1_1BDA;
    let schedule = [key[0], key[1], PARITY ^ key[0] ^ key[1]];
    let [mut x, mut y] = counter;
    x = x.wrapping_add(schedule[0]);
    y = y.wrapping_add(schedule[1]);
    for group in 0..5usize {
        for rotation in ROTATIONS[group % 2] {
            x = x.wrapping_add(y);
            y = y.rotate_left(rotation) ^ x;
        }
        x = x.wrapping_add(schedule[(group + 1) % 3]);
        y = y.wrapping_add(schedule[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    [x, y]
}

fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// One word of 64 bits per element and counter. Returns the counter after them.
pub(super) fn words64(key: u64, counter: u64, count: usize) -> (Vec<u64>, u64) {
    let key = halves(key);
    let word = |i: u64| {
        let [low, high] = block(key, halves(counter.wrapping_add(i)));
        u64::from(low) | u64::from(high) << 32
    };
    ((0..count as u64).map(word).collect(), counter.wrapping_add(count as u64))
}

/// One word of 32 bits per element. A block gives two neighbours along the split dimension: the
/// first of even size, else the largest.
pub(super) fn words32(key: u64, counter: u64, dims: &[i64], count: usize) -> (Vec<u32>, u64) {
    let key = halves(key);
    if dims.is_empty() {
        return (vec![block(key, halves(counter))[0]], counter.wrapping_add(1));
    }
    let largest = dims.iter().max().copied().unwrap_or(0);
    let split = dims
        .iter()
        .position(|size| size % 2 == 0)
        .or_else(|| dims.iter().position(|&size| size == largest))
        .unwrap_or(0);
    let size = dims[split] as usize;
    let half = size.div_ceil(2);
    let inner: usize = dims[split + 1..].iter().map(|&size| size as usize).product();
    let outer: usize = dims[..split].iter().map(|&size| size as usize).product();
    let mut words = vec![0; count];
    for i in 0..outer {
        for j in 0..half {
            for k in 0..inner {
                let position = (i * half + j) * inner + k;
                let pair = block(key, halves(counter.wrapping_add(position as u64)));
                for (which, word) in pair.into_iter().enumerate() {
                    if 2 * j + which < size {
                        words[(i * size + 2 * j + which) * inner + k] = word;
                    }
                }
            }
        }
    }
    (words, counter.wrapping_add((outer * half * inner) as u64))
}
