s/dims: {counter: TODO}/dims: {size: 1}/
/name: cv,/s/TODO/{ints: [0, 2147483647]}/
/name: block,/c\  - {name: block, kind: in, dtype: u8, shape: [64], fill: {ints: [0, 255]}}
/name: block_len,/s/TODO/64/
/name: counter,/c\  - {name: counter, kind: scalar, dtype: u64, value: 77}
/name: flags,/s/TODO/3/
s/^domain: .*/domain: [size == 1]/
s/^  - {counter: 61}/  - {size: 1}/
/^  - {counter: 1}/d
s/^accept: .*/accept: {rule: exact}/
