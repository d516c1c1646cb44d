s/dims: {N: TODO, C: TODO}/dims: {N: 1024, C: 2048}/
/name: out,/c\  - {name: out, kind: out, dtype: f32, shape: [N, C]}
s/shape: \[TODO\]/shape: [N, C]/
