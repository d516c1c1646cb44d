s/dims: {channels: TODO.*}}/dims: {channels: 8, height: 26, width: 26, ksize: 3, stride: 1, pad: 1}}/
/name: data_im,/s/TODO/channels, height, width/
/name: data_col,/s/\[TODO\]/["channels * ksize * ksize", "(height + 2 * pad - ksize) \/ stride + 1", "(width + 2 * pad - ksize) \/ stride + 1"]/
s/^domain: .*/domain: [channels >= 1, height >= 1, width >= 1, ksize >= 1, ksize <= 7, stride >= 1, stride <= 4, pad >= 0, pad <= 3, height + 2 * pad >= ksize, width + 2 * pad >= ksize]/
s/^  - {channels: 1,.*/  - {channels: 1, height: 1, width: 1, ksize: 1, stride: 1, pad: 0}/
s/^  - {channels: 61.*/  - {channels: 3, height: 13, width: 17, ksize: 5, stride: 2, pad: 2}/
s/^accept: .*/accept: {rule: exact}/
s/^#values:/values:/
