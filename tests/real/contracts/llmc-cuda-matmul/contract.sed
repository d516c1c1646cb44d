s/dims: {BT: TODO, C: TODO, OC: TODO}/dims: {BT: 512, C: 768, OC: 768}/
/name: out,/s/TODO/BT, OC/
/name: inp,/s/TODO/BT, C/
/name: weight,/s/TODO/OC, C/
/name: bias,/s/TODO/OC/
