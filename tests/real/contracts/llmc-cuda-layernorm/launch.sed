s|^    grid: \[TODO\]|    grid: ["cdiv(N, 8)"]|
s|^    block: \[TODO\]|    block: [256]|
