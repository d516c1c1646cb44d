s/dims: {M: TODO, N: TODO, K: TODO}/dims: {M: 512, N: 512, K: 256}/
/name: alpha,/s/TODO/0.5/
/name: beta,/s/TODO/3.0/
/name: A,/c\  - {name: A, kind: in, dtype: f32, shape: [M, K], fill: normal}
/name: B,/c\  - {name: B, kind: in, dtype: f32, shape: [K, N], fill: normal}
/name: C,/c\  - {name: C, kind: inout, dtype: f32, shape: [M, N], fill: normal}
