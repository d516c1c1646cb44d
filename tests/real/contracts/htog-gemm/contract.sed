s/dims: {m: TODO.*}}/dims: {m: 256, n: 256, k: 128, lda: 256, ldb: 128, ldc: 256}}/
/name: a,/c\  - {name: a, kind: in, dtype: f64, shape: [k, lda], fill: normal}
/name: b,/c\  - {name: b, kind: in, dtype: f64, shape: [n, ldb], fill: normal}
/name: c,/c\  - {name: c, kind: inout, dtype: f64, shape: [n, ldc], fill: normal}
s/^domain: .*/domain: [m >= 4, n >= 4, k >= 4, m % 4 == 0, n % 4 == 0, k % 4 == 0, n <= 1000, lda >= m, ldb >= k, ldc >= m]/
s/^  - {m: 1,.*/  - {m: 4, n: 4, k: 4, lda: 4, ldb: 4, ldc: 4}/
s/^  - {m: 61.*/  - {m: 300, n: 12, k: 132, lda: 301, ldb: 140, ldc: 300}/
s/^accept: .*/accept: {rule: rel-l2, tol: 1e-13}/
