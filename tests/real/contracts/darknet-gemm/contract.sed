s/dims: {M: TODO, N: TODO, K: TODO, lda: TODO, ldb: TODO, ldc: TODO}/dims: {M: 64, N: 169, K: 288, lda: 288, ldb: 169, ldc: 169}/
/name: ALPHA,/s/TODO/1.0/
/name: A,/s/TODO/M, lda/
/name: B,/s/TODO/K, ldb/
/name: C,/s/TODO/M, ldc/
/^domain:/s/lda >= TODO, ldb >= TODO, ldc >= TODO/lda >= K, ldb >= N, ldc >= N/
s/^#values:/values:/
