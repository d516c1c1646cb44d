s|^    grid: \[TODO\]|    grid: [x]|
s|^    block: \[TODO\]|    block: [128]|
