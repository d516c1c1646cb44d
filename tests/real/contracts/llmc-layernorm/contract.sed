s/dims: {B: TODO, T: TODO, C: TODO}/dims: {B: 2, T: 64, C: 256}/
/name: out,/s/TODO/B, T, C/
/name: mean,/s/TODO/B, T/
/name: rstd,/s/TODO/B, T/
/name: inp,/s/TODO/B, T, C/
/name: weight,/s/TODO/C/
/name: bias,/s/TODO/C/
/^#values:/c\
values: {nan: undefined, inf: undefined, denormal: undefined}\
sweep: [weight, bias]
