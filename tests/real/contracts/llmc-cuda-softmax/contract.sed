s/dims: {N: TODO, C: TODO}/dims: {N: 1024, C: 2048}/
s/shape: \[TODO\]/shape: [N, C]/
