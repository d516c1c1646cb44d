s/dims: {size: TODO}/dims: {blocks: 4096}/
/name: a,/c\  - {name: a, kind: in, dtype: f32, shape: ["1024 * blocks"], fill: normal}
/name: b,/c\  - {name: b, kind: in, dtype: f32, shape: ["1024 * blocks"], fill: normal}
/name: c,/c\  - {name: c, kind: out, dtype: f32, shape: ["1024 * blocks"]}
s/^domain: .*/domain: [blocks >= 1, blocks <= 65536]/
s/{size: /{blocks: /
s/ cuda_runtime.h, device_launch_parameters.h,//
