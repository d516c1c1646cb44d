s|^    grid: \[TODO\]|    grid: ["cdiv(blocks, 256)"]|
s/args: .*/args: [d_in, d_out, {i32: blocks}]/
