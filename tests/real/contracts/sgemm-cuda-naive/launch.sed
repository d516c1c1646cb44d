s|^    grid: .*|    grid: ["cdiv(M, 32)", "cdiv(N, 32)"]|
s|^    block: .*|    block: [32, 32]|
