/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

/*
 * A "kernel" for the pretended GPU of fake/cuda.c: a C function that does the work of the whole
 * grid, in a shared object that stands for a cubin. Its parameters' sizes lie beside it:
 *
 *	KERNEL(scale, 8, 8, 4)
 *	{
 *		const float *x = PTR(0);
 *		...
 *	}
 */
struct fake_launch {
	unsigned grid[3], block[3], cluster[3], smem;
	int cooperative, pdl;
	unsigned char *shared; /* what a multiprocessor has; kept between launches, as there */
};

#define KERNEL(name, ...)                                   \
	const int name##_params[] = { __VA_ARGS__, -1 };    \
	void name(void **arg, const struct fake_launch *l); \
	void name(void **arg, const struct fake_launch *l)

#define PTR(i) (*(void **)arg[i])
#define I32(i) (*(int *)arg[i])
#define I64(i) (*(long long *)arg[i])
#define F32(i) (*(float *)arg[i])

#endif
