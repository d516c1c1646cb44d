s/dims: {size: TODO}/dims: {size: 288}/
s/shape: \[TODO\]/shape: [size]/
