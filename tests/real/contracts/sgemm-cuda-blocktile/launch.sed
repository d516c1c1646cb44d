s|^    grid: .*|    grid: ["cdiv(N, 64)", "cdiv(M, 64)"]|
s|^    block: .*|    block: [512]|
s/<TODO, TODO, TODO, TODO>.*/<64, 64, 8, 8>/
