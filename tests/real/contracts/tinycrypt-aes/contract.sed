s/dims: {size: TODO}/dims: {size: 1}/
/name: out,/c\  - {name: out, kind: out, dtype: u8, shape: [16]}
/name: in,/s/shape: \[TODO\], fill: TODO/shape: [16], fill: {ints: [0, 255]}/
/name: s,/c\  - {name: s, kind: in, dtype: u32, shape: [44], fill: {ints: [0, 2147483647]}}
s/^domain: .*/domain: [size == 1]/
/^  - {size: 61}/d
s/^accept: .*/accept: {rule: exact}/
