s/dims: {N: TODO}/dims: {N: 65536}/
/name: out,/c\  - {name: out, kind: out, dtype: bf16, shape: [N]}
/name: inp,/c\  - {name: inp, kind: in, dtype: bf16, shape: [N], fill: normal}
