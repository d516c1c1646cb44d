s/dims: {M: TODO, N: TODO, K: TODO}/dims: {M: 512, N: 512, K: 256}/
/name: alpha,/s/TODO/0.5/
/name: beta,/s/TODO/3.0/
/name: A,/c\  - {name: A, kind: in, dtype: f32, shape: [K, M], fill: normal}
/name: B,/c\  - {name: B, kind: in, dtype: f32, shape: [N, K], fill: normal}
/name: C,/c\  - {name: C, kind: inout, dtype: f32, shape: [N, M], fill: normal}
s/^domain: .*/domain: [M >= 32, M % 32 == 0, N >= 32, N % 32 == 0, K >= 1]/
s/^  - {M: 1,.*/  - {M: 32, N: 32, K: 1}/
s/^  - {M: 61,.*/  - {M: 96, N: 64, K: 5}/
