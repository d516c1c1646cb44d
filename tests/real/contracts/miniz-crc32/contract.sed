s/dims: {buf_len: TODO}/dims: {buf_len: 65536}/
/name: crc,/s/TODO/0/
/name: ptr,/s/shape: \[TODO\], fill: TODO/shape: [buf_len], fill: {ints: [0, 255]}/
s/^accept: .*/accept: {rule: exact}/
