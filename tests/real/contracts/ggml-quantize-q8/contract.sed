s/dims: {k: TODO}/dims: {k: 4096}/
/name: x,/s/TODO/k/
/name: y,/c\  - {name: y, kind: out, dtype: u8, shape: ["k / 32 * 34"]}
s/^domain: .*/domain: [k >= 32, k % 32 == 0]/
s/^  - {k: 1}/  - {k: 32}/
s/^  - {k: 61}/  - {k: 96}/
s/^accept: .*/accept: {rule: exact}/
/^#values:/c\
values: {nan: undefined, inf: undefined, denormal: undefined}\
sweep: []
