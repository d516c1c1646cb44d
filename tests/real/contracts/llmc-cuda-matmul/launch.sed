s|^    grid: \[TODO\]|    grid: ["cdiv(BT, 16)", "cdiv(OC, 16)"]|
s|^    block: \[TODO\]|    block: [16, 16]|
