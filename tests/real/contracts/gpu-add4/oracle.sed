s|^    grid: \[TODO\]|    grid: ["4 * blocks"]|
