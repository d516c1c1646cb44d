s/dims: {size: TODO}/dims: {nfft: 240}/
/name: cfg,/c\  - {name: nfft, kind: dim, dtype: i32}
/name: fin,/c\  - {name: fin, kind: in, dtype: f32, shape: [nfft, 2], fill: normal}
/name: fout,/c\  - {name: fout, kind: out, dtype: f32, shape: [nfft, 2]}
s/^domain: .*/domain: [nfft >= 1, nfft <= 1024]/
s/{size: /{nfft: /
/^adapter:/a\
prepares: [kiss_fft_alloc]
