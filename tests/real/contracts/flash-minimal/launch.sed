s|^    grid: .*|    grid: [B, heads]|
s|^    block: .*|    block: [32]|
s|^    smem: .*|    smem: "12 * 32 * d + 4 * 32 * 32"|
s|{i32: Tc}, {i32: Tr}, {i32: Bc}, {i32: Br}|{i32: "N / 32"}, {i32: "N / 32"}, {i32: 32}, {i32: 32}|
