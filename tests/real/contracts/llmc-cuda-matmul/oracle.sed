s|^    grid: \[TODO\]|    grid: ["cdiv(BT * OC, 256)"]|
