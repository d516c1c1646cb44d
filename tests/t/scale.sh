# SPDX-License-Identifier: Apache-2.0
# scale.sh - a small kernel with a history: plain, in registers, a version that is wrong at the end, the expert. Source it.

# kernel <body> <subject>: commit a version of the kernel
kernel () {
	cat >k/scale.c <<X
#include <stdint.h>

void scale(int64_t n, const float *x, float *y)
{
$1
}
X
	git add -A && git commit -q -m "$2"
}

# make_repo <directory>: create a repository with the contract and four commits of the kernel; stay in it
make_repo () {
	git init -q -b main "$1" && cd "$1" && mkdir k || return 1
	git config klineage.profileMs 300
	cat >k/klineage.yaml <<'X'
klineage: 1
workload: scale
case: {op: scale, dims: {n: 4096}}
surface: {language: c, sources: [scale.c], entry: scale, flags: [-O2]}
args:
  - {name: n, kind: dim}
  - {name: x, kind: in, dtype: f32, shape: [n], fill: normal}
  - {name: y, kind: out, dtype: f32, shape: [n]}
domain: [n >= 1]
also: [{n: 1}, {n: 7}, {n: 1021}]
oracle: {language: c, sources: [oracle.c], entry: oracle}
accept: {rule: noise}
floor: {bytes: none}
X
	cat >k/oracle.c <<'X'
#include <stdint.h>
#include "kl_oracle.h"

void oracle(int64_t n, const kl_real *x, kl_real *y)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * (kl_real)3 + (kl_real)1;
}
X
	kernel '	for (int64_t i = 0; i < n; i++) {
		volatile float t = x[i];

		y[i] = t * 3.0f + 1.0f;
	}' 'scale: the plain loop'
	kernel '	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * 3.0f + 1.0f;' 'scale: keep it in registers'
	kernel '	for (int64_t i = 0; i + 4 <= n; i += 4)
		for (int64_t k = 0; k < 4; k++)
			y[i + k] = x[i + k] * 3.0f + 1.0f;' 'scale: four at a time, wrongly'
	kernel '	int64_t i = 0;

	for (; i + 4 <= n; i += 4) {
		float a = x[i], b = x[i + 1], c = x[i + 2], d = x[i + 3];

		y[i] = a * 3.0f + 1.0f;
		y[i + 1] = b * 3.0f + 1.0f;
		y[i + 2] = c * 3.0f + 1.0f;
		y[i + 3] = d * 3.0f + 1.0f;
	}
	for (; i < n; i++)
		y[i] = x[i] * 3.0f + 1.0f;' 'scale: four at a time'
}
