s/dims: {M: TODO, N: TODO}/dims: {M: 4096, N: 1024}/
/name: A,/c\  - {name: A, kind: in, dtype: f32, shape: [M, N], fill: normal}
/name: x,/c\  - {name: x, kind: in, dtype: f32, shape: [N], fill: normal}
/name: y,/s/TODO/M/
s/^domain: .*/domain: [M >= 4, M % 4 == 0, N >= 128, N % 128 == 0]/
s/^  - {M: 1,.*/  - {M: 4, N: 128}/
s/^  - {M: 61,.*/  - {M: 60, N: 384}/
