s/dims: {n: TODO, d: TODO}/dims: {n: 288, d: 768}/
/name: xout,/s/TODO/d/
/name: x,/s/TODO/n/
/name: w,/s/TODO/d, n/
