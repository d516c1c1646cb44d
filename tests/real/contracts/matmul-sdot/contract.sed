s/dims: {n: TODO}/dims: {n: 4096}/
s/shape: \[TODO\]/shape: [n]/
s/^accept: .*/accept: {rule: elementwise, ulps: 2, acc: 8}/
