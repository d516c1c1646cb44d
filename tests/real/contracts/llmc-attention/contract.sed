s/dims: {B: TODO, T: TODO, C: TODO, NH: TODO}/dims: {B: 2, T: 48, C: 96, NH: 4}/
/name: out,/s/TODO/B, T, C/
/name: preatt,/{
s/TODO/B, NH, T, T/
s/kind: out/kind: inout/
s/}$/, fill: zeros}/
}
/name: att,/s/TODO/B, NH, T, T/
/name: inp,/s/TODO/B, T, "3 * C"/
s/^domain: .*/domain: [B >= 1, T >= 1, NH >= 1, C >= NH, C % NH == 0]/
s/^  - {B: 61.*/  - {B: 1, T: 17, C: 39, NH: 3}/
s/^#values:/values:/
