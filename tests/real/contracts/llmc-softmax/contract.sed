s/dims: {B: TODO, T: TODO, V: TODO, Vp: TODO}/dims: {B: 2, T: 32, V: 500, Vp: 512}/
/name: probs,/s/TODO/B, T, Vp/
/name: logits,/s/TODO/B, T, Vp/
s/^domain: .*/domain: [B >= 1, T >= 1, V >= 1, Vp >= V]/
s/^  - {B: 61.*/  - {B: 3, T: 7, V: 61, Vp: 64}/
s/^#values:/values:/
