s|^    grid: \[TODO\]|    grid: ["cdiv(N, 256)"]|
s|^    block: \[TODO\]|    block: [256]|
s/P6floatXPKS_i/P13__nv_bfloat16PKS_i/
s/args: .*/args: [out, inp, {i32: N}]/
