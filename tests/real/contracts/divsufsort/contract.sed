s/dims: {n: TODO}/dims: {n: 4096}/
/name: T,/s/shape: \[TODO\], fill: TODO/shape: [n], fill: {ints: [97, 100]}/
/name: SA,/s/TODO/n/
s/^accept: .*/accept: {rule: exact}/
