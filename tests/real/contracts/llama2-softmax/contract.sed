s/dims: {size: TODO}/dims: {size: 1024}/
s/shape: \[TODO\]/shape: [size]/
