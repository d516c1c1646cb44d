s/dims: {N: TODO}/dims: {N: 16384}/
s/shape: \[TODO\]/shape: [N]/
s/^#values:/values:/
