s/dims: {size: TODO}/dims: {blocks: 65536}/
/name: d_in,/s/TODO/"512 * blocks"/
/name: d_out,/s/TODO/blocks/
s/^domain: .*/domain: [blocks >= 1, blocks <= 65536]/
s/{size: /{blocks: /
s/ cuda_runtime.h, device_launch_parameters.h,//
