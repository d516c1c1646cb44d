s/dims: {len: TODO.*}}/dims: {len: 240, max_pitch: 302}}/
/name: _x,/s/TODO/len/
/name: _y,/s/TODO/len + max_pitch/
/name: xcorr,/s/TODO/max_pitch/
/name: arch,/c\  - {name: arch, kind: scalar, dtype: i32, value: 0}
s/^domain: .*/domain: [len >= 3, max_pitch >= 1]/
s/^  - {len: 1,.*/  - {len: 3, max_pitch: 1}/
s/^  - {len: 61,.*/  - {len: 61, max_pitch: 13}/
