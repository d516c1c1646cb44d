s/dims: {[a-z_]*: TODO}/dims: {n: 24}/
/name: buf_start,/c\  - {name: n, kind: dim, dtype: i32}
/name: len,/c\  - {name: sizes, kind: in, dtype: u8, shape: [n, 2], fill: {ints: [0, 63]}}
/name: headers,/c\  - {name: found, kind: out, dtype: i32, shape: [n, 4]}
/name: num_headers,/d
/name: last_len,/d
s/^domain: .*/domain: [n >= 1, n <= 32]/
s/^  - {[a-z_]*: \([0-9]\)/  - {n: \1/
s/{n: 61}/{n: 13}/
s/^accept: .*/accept: {rule: exact}/
