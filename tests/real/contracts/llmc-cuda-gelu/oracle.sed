s|^    grid: \[TODO\]|    grid: ["cdiv(N, 256)"]|
s/args: .*/args: [out, inp, {i32: N}]/
