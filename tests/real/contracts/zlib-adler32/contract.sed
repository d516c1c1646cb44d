s/dims: {adler: TODO, len: TODO}/dims: {len: 65536}/
/name: adler,/s/{.*/{name: adler, kind: scalar, dtype: u64, value: 1}/
/name: buf,/s/shape: \[TODO\], fill: TODO/shape: [len], fill: {ints: [0, 255]}/
s/adler >= 1, //
s/{adler: [0-9]*, len/{len/
s/^accept: .*/accept: {rule: exact}/
