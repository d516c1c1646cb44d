s|^    grid: .*|    grid: ["cdiv(M * N, 256)"]|
