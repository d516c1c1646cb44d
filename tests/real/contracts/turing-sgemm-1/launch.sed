s|^    grid: .*|    grid: ["M / 32", "N / 32"]|
s|^    block: .*|    block: [32, 32]|
