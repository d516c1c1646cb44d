s/dims: {n: TODO}/dims: {n: 4096}/
/name: T,/s/shape: \[TODO\], fill: TODO/shape: [n], fill: {ints: [97, 100]}/
/name: SA,/c\  - {name: SA, kind: out, dtype: i32, shape: [n]}
s/^accept: .*/accept: {rule: exact}/
