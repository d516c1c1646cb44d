s/dims: {N: TODO, C: TODO}/dims: {N: 1024, C: 768}/
/name: out,/c\  - {name: out, kind: out, dtype: f32, shape: [N, C]}
/name: mean,/c\  - {name: mean, kind: out, dtype: f32, shape: [N]}
/name: rstd,/c\  - {name: rstd, kind: out, dtype: f32, shape: [N]}
/name: inp,/s/TODO/N, C/
/name: weight,/s/TODO/C/
/name: bias,/s/TODO/C/
