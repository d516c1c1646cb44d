s/dims: {N: TODO, K: TODO}/dims: {N: 4096, K: 1024}/
/name: A,/s/TODO/K/
/name: B,/s/TODO/N, K/
/name: C,/s/TODO/N/
