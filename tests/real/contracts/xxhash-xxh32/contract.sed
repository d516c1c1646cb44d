s/dims: {len: TODO}/dims: {len: 65536}/
/name: input,/c\  - {name: input, kind: in, dtype: u8, shape: [len], fill: {ints: [0, 255]}}
/name: seed,/s/TODO/2654435/
s/^  - {len: 61}/  - {len: 3}\n  - {len: 61}/
s/^accept: .*/accept: {rule: exact}/
