s/dims: {size: TODO}/dims: {size: 1}/
/name: out,/c\  - {name: out, kind: out, dtype: u8, shape: [32]}
/name: in,/s/shape: \[TODO\], fill: TODO/shape: [16], fill: {ints: [0, 255]}/
/name: k,/s/shape: \[TODO\], fill: TODO/shape: [32], fill: {ints: [0, 255]}/
/name: c,/s/shape: \[TODO\], fill: TODO/shape: [16], fill: {ints: [0, 255]}/
s/^domain: .*/domain: [size == 1]/
/^  - {size: 61}/d
s/^accept: .*/accept: {rule: exact}/
