s/dims: {str_len: TODO}/dims: {str_len: 4}/
/name: str,/s/shape: \[TODO\], fill: TODO/shape: [str_len], fill: {choice: [65, 194, 208, 224, 225, 237, 240, 241, 244, 128, 143, 144, 160, 191, 255]}/
/name: dst,/s/TODO/1/
s/^domain: .*/domain: [str_len >= 1, str_len <= 64]/
s/^accept: .*/accept: {rule: exact}/
