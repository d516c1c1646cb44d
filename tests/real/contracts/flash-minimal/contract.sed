s/dims: {N: TODO.*}}/dims: {B: 4, heads: 4, N: 128, d: 64}}/
/name: Q,/s/TODO/B, heads, N, d/
/name: K,/s/TODO/B, heads, N, d/
/name: V,/s/TODO/B, heads, N, d/
/name: softmax_scale,/s/TODO/0.125/
/name: l,/c\  - {name: l, kind: inout, dtype: f32, shape: [B, heads, N], fill: zeros}
/name: m,/c\  - {name: m, kind: inout, dtype: f32, shape: [B, heads, N], fill: {const: -.inf}}
/name: O,/c\  - {name: O, kind: inout, dtype: f32, shape: [B, heads, N, d], fill: zeros}
s/^domain: .*/domain: [B >= 1, heads >= 1, N >= 32, N % 32 == 0, d >= 1, d <= 96]/
s/^  - {N: 1,.*/  - {B: 1, heads: 1, N: 32, d: 8}/
s/^  - {N: 61,.*/  - {B: 2, heads: 3, N: 96, d: 40}/
