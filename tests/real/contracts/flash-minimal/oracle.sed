s|^    grid: .*|    grid: ["cdiv(B * heads * N, 256)"]|
s|^    args: .*|    args: [Q, K, V, {i32: "B * heads"}, {i32: N}, {i32: d}, softmax_scale, l, m, O]|
