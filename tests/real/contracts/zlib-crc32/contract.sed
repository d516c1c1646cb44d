s/dims: {crc: TODO, len: TODO}/dims: {len: 65536}/
/name: crc,/s/{.*/{name: crc, kind: scalar, dtype: u64, value: 0}/
/name: buf,/s/shape: \[TODO\], fill: TODO/shape: [len], fill: {ints: [0, 255]}/
s/crc >= 1, //
s/{crc: [0-9]*, len/{len/
s/^accept: .*/accept: {rule: exact}/
