s/dims: {M: TODO, N: TODO, K: TODO}/dims: {M: 512, N: 512, K: 256}/
/name: alpha,/s/TODO/0.5/
/name: beta,/s/TODO/3.0/
/name: A,/c\  - {name: A, kind: in, dtype: f32, shape: [M, K], fill: normal}
/name: B,/c\  - {name: B, kind: in, dtype: f32, shape: [K, N], fill: normal}
/name: C,/c\  - {name: C, kind: inout, dtype: f32, shape: [M, N], fill: normal}
s/^domain: .*/domain: [M >= 64, M % 64 == 0, N >= 64, N % 64 == 0, K >= 8, K % 8 == 0]/
s/^  - {M: 1,.*/  - {M: 64, N: 64, K: 8}/
s/^  - {M: 61,.*/  - {M: 192, N: 128, K: 24}/
