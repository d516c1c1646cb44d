s/dims: {N: TODO}/dims: {N: 16384}/
/name: in,/s/shape: \[TODO\], fill: TODO/shape: [N], fill: {ints: [-2147483648, 2147483647]}/
/name: out,/s/TODO/N/
s/^accept: .*/accept: {rule: exact}/
