s/dims: {stride: TODO}/dims: {stride: 4}/
/name: c,/s/shape: \[TODO\], fill: TODO/shape: ["3 * stride + 1"], fill: {ints: [-32768, 32767]}/
s/^domain: .*/domain: [stride >= 1, stride <= 64]/
s/^accept: .*/accept: {rule: exact}/
