s/dims: {B: TODO, T: TODO, C: TODO, OC: TODO}/dims: {B: 2, T: 64, C: 128, OC: 192}/
/name: out,/s/TODO/B, T, OC/
/name: inp,/s/TODO/B, T, C/
/name: weight,/s/TODO/OC, C/
/name: bias,/s/TODO/OC/
s/^#values:/values:/
