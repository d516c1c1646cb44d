s|^    grid: \[TODO\]|    grid: [N]|
s|^    block: \[TODO\]|    block: [256]|
s|^    block: .*|&\n    smem: 64|
