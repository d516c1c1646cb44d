s|^    grid: \[TODO\]|    grid: ["cdiv(N, 256)"]|
