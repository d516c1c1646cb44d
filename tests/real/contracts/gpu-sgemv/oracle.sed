s|^    grid: \[TODO\]|    grid: ["cdiv(M, 256)"]|
