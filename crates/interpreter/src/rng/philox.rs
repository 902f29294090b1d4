//! Philox 4x32 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
//! SC 2011), and how XLA spreads its output over an array.

/// One block: four words out of a counter of four under a key of two.
fn block(key: u64, counter: u128) -> [u32; 4] {
    const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
    let mut key = [key as u32, (key >> 32) as u32];
    let mut x: [u32; 4] = std::array::from_fn(|i| (counter >> (32 * i)) as u32);
    for _ in 0..10 {
        let first = u64::from(x[0]) * u64::from(MULTIPLIERS[0]);
        let second = u64::from(x[2]) * u64::from(MULTIPLIERS[1]);
        x = [
            (second >> 32) as u32 ^ x[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ x[3] ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    x
}

/// XLA's sum of a counter and a number: the carry out of the lower half moves into the upper one.
fn advance(counter: u128, by: usize) -> u128 {
    counter.wrapping_add(by as u128)
}

/// Four words per block, in order. Returns the counter after them.
pub(super) fn words32(key: u64, counter: u128, count: usize) -> (Vec<u32>, u128) {
    let blocks = count.div_ceil(4);
    let mut words: Vec<u32> = (0..blocks).flat_map(|i| block(key, advance(counter, i))).collect();
    words.truncate(count);
    (words, advance(counter, blocks))
}

/// Two words of 64 bits per block, in order. Returns the counter after them.
pub(super) fn words64(key: u64, counter: u128, count: usize) -> (Vec<u64>, u128) {
    let blocks = count.div_ceil(2);
    let join = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let mut words: Vec<u64> = (0..blocks)
        .flat_map(|i| {
            let [a, b, c, d] = block(key, advance(counter, i));
            [join(a, b), join(c, d)]
        })
        .collect();
    words.truncate(count);
    (words, advance(counter, blocks))
}
