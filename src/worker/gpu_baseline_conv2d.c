/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu_baseline.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "worker/job.h"

/* cuDNN's binary interface, as far as it is used. */
enum { ALGO_FFT = 4, ALGO_WINOGRAD_NONFUSED = 7 };	/* and what lies between them */
enum { NCHW = 0, NHWC = 1, HALF = 2, FLOAT = 0, CROSS_CORRELATION = 1, TENSOR_OP_MATH = 1 };

struct algo {
	int algo, status;
	float time;
	size_t memory;
	int determinism, math, reserved[3];
};

#define MAX_ALGOS 16
#define WORKSPACE ((uint64_t)512 << 20)
/* NCHW: tensors of its own for each set that it is called on */
#define MAX_COPIES 64

struct copy {
	uint64_t x, own_x, own_w, own_y;	/* x: the caller's, which says whose copy this is */
};

struct conv {
	int (*create)(void **handle);
	int (*destroy)(void *handle);
	int (*set_stream)(void *handle, struct kl_cu_stream *s);
	size_t (*version)(void);
	int (*tensor_create)(void **t);
	int (*tensor_set)(void *t, int format, int type, int n, int c, int h, int w);
	int (*filter_create)(void **f);
	int (*filter_set)(void *f, int type, int format, int k, int c, int h, int w);
	int (*conv_create)(void **c);
	int (*conv_set)(void *c, int pad_h, int pad_w, int u, int v, int dil_h, int dil_w, int mode,
			int compute);
	int (*conv_math)(void *c, int math);
	int (*find)(void *handle, void *xd, const void *x, void *wd, const void *w, void *cd, void *yd,
		    void *y, int asked, int *got, struct algo *results, void *room, size_t nroom);
	int (*forward)(void *handle, const void *alpha, void *xd, const void *x, void *wd, const void *w,
		       void *cd, int algo, void *room, size_t nroom, const void *beta, void *yd, void *y);
	int (*transform)(void *handle, const void *alpha, void *ad, const void *a, const void *beta,
			 void *bd, void *b);
	void *handle, *cd;
	void *xd, *wd, *yd;			/* as it is computed; wd is a filter */
	void *from_x, *from_w, *own_w, *to_y;	/* NCHW: the contract's layouts, and wd as a tensor */
	uint64_t room;
	size_t nroom;
	int algo, x, w, y;
	uint64_t bytes[3];
	bool nchw;
	struct copy copy[MAX_COPIES];
	size_t ncopy;
};

static void *pointer(uint64_t at)
{
	return (void *)(uintptr_t)at;
}

static int forward(struct conv *c, uint64_t x, uint64_t w, uint64_t y)
{
	const float one = 1, zero = 0;

	return c->forward(c->handle, &one, c->xd, pointer(x), c->wd, pointer(w), c->cd, c->algo,
			  pointer(c->room), c->nroom, &zero, c->yd, pointer(y));
}

static int transform(struct conv *c, void *from_d, uint64_t from, void *to_d, uint64_t to)
{
	const float one = 1, zero = 0;

	return c->transform(c->handle, &one, from_d, pointer(from), &zero, to_d, pointer(to));
}

/* -- the contract's layout --------------------------------------------------------- */

static int run(struct kl_gpu_baseline *b, const uint64_t *at)
{
	struct conv *c = b->state;

	return forward(c, at[c->x], at[c->w], at[c->y]);
}

/* -- NCHW --------------------------------------------------------------------------- */

static struct copy *copy_of(struct conv *c, const struct kl_gpu_device *d, uint64_t x)
{
	struct copy *p;

	for (size_t i = 0; i < c->ncopy; i++)
		if (c->copy[i].x == x)
			return &c->copy[i];
	if (c->ncopy == MAX_COPIES)
		return NULL;
	p = &c->copy[c->ncopy];
	p->own_x = kl_gpu_baseline_memory(d, c->bytes[0]);
	p->own_w = kl_gpu_baseline_memory(d, c->bytes[1]);
	p->own_y = kl_gpu_baseline_memory(d, c->bytes[2]);
	p->x = x;
	if (!p->own_x || !p->own_w || !p->own_y)
		return NULL;
	c->ncopy++;
	return p;
}

static int before_nchw(struct kl_gpu_baseline *b, const uint64_t *at)
{
	struct conv *c = b->state;
	struct copy *p = copy_of(c, b->device, at[c->x]);
	int rc;

	if (!p)
		return -1;
	rc = transform(c, c->from_x, at[c->x], c->xd, p->own_x);
	return rc ? rc : transform(c, c->from_w, at[c->w], c->own_w, p->own_w);
}

static int run_nchw(struct kl_gpu_baseline *b, const uint64_t *at)
{
	struct conv *c = b->state;
	struct copy *p = copy_of(c, b->device, at[c->x]);

	return p ? forward(c, p->own_x, p->own_w, p->own_y) : -1;
}

static int after_nchw(struct kl_gpu_baseline *b, const uint64_t *at)
{
	struct conv *c = b->state;
	struct copy *p = copy_of(c, b->device, at[c->x]);

	return p ? transform(c, c->yd, p->own_y, c->to_y, at[c->y]) : -1;
}

/* -- opening -------------------------------------------------------------------------- */

struct shape {
	int n, h, w, c, f, r, s, p, q, pad_h, pad_w;
};

static int fit(struct shape *z, struct conv *c, const struct kl_gpu_baseline_spec *s)
{
	const int64_t *x, *w, *y;

	c->x = kl_gpu_baseline_tensor(s, false, 0, 4);
	c->w = kl_gpu_baseline_tensor(s, false, 1, 4);
	c->y = kl_gpu_baseline_tensor(s, true, 0, 4);
	if (c->x < 0 || c->w < 0 || c->y < 0 || s->arg[c->x].dtype != KL_F16 ||
	    s->arg[c->w].dtype != KL_F16 || s->arg[c->y].dtype != KL_F16)
		return kl_error(KL_ECANNOT, "needs f16 in x, w and out y of four axes");
	x = s->arg[c->x].extent, w = s->arg[c->w].extent, y = s->arg[c->y].extent;
	for (int i = 0; i < 4; i++)
		if (x[i] < 1 || w[i] < 1 || y[i] < 1 || x[i] > 1 << 24 || w[i] > 1 << 24 || y[i] > 1 << 24)
			return kl_error(KL_ECANNOT, "an extent is out of range");
	*z = (struct shape){ .n = (int)x[0], .h = (int)x[1], .w = (int)x[2], .c = (int)x[3],
			     .f = (int)w[0], .r = (int)w[1], .s = (int)w[2],
			     .p = (int)y[1], .q = (int)y[2] };
	z->pad_h = (z->p - z->h + z->r - 1) / 2;
	z->pad_w = (z->q - z->w + z->s - 1) / 2;
	if (w[3] != z->c || y[0] != z->n || y[3] != z->f || z->pad_h < 0 || z->pad_w < 0 ||
	    z->p != z->h + 2 * z->pad_h - z->r + 1 || z->q != z->w + 2 * z->pad_w - z->s + 1)
		return kl_error(KL_ECANNOT, "needs x [N,H,W,C], w [F,R,S,C], y [N,P,Q,F], stride 1");
	c->bytes[0] = 2 * (uint64_t)z->n * (uint64_t)z->h * (uint64_t)z->w * (uint64_t)z->c;
	c->bytes[1] = 2 * (uint64_t)z->f * (uint64_t)z->r * (uint64_t)z->s * (uint64_t)z->c;
	c->bytes[2] = 2 * (uint64_t)z->n * (uint64_t)z->p * (uint64_t)z->q * (uint64_t)z->f;
	return 0;
}

static int load(struct conv *c)
{
	static const char *const names[] = { "libcudnn.so.9", NULL };
	const struct kl_gpu_symbol symbols[] = {
		{ (void **)&c->create, "cudnnCreate" },
		{ (void **)&c->destroy, "cudnnDestroy" },
		{ (void **)&c->set_stream, "cudnnSetStream" },
		{ (void **)&c->version, "cudnnGetVersion" },
		{ (void **)&c->tensor_create, "cudnnCreateTensorDescriptor" },
		{ (void **)&c->tensor_set, "cudnnSetTensor4dDescriptor" },
		{ (void **)&c->filter_create, "cudnnCreateFilterDescriptor" },
		{ (void **)&c->filter_set, "cudnnSetFilter4dDescriptor" },
		{ (void **)&c->conv_create, "cudnnCreateConvolutionDescriptor" },
		{ (void **)&c->conv_set, "cudnnSetConvolution2dDescriptor" },
		{ (void **)&c->conv_math, "cudnnSetConvolutionMathType" },
		{ (void **)&c->find, "cudnnFindConvolutionForwardAlgorithmEx" },
		{ (void **)&c->forward, "cudnnConvolutionForward" },
		{ (void **)&c->transform, "cudnnTransformTensor" },
	};
	void *lib;
	int err = kl_gpu_baseline_library(&lib, names);

	return err < 0 ? err : kl_gpu_baseline_symbols(lib, symbols, KL_ARRAY_SIZE(symbols));
}

static int tensor(struct conv *c, void **t, int format, int n, int ch, int h, int w)
{
	int rc = c->tensor_create(t);

	return rc ? rc : c->tensor_set(*t, format, HALF, n, ch, h, w);
}

static int describe(struct conv *c, const struct shape *z, const struct kl_gpu_device *d)
{
	int layout = c->nchw ? NCHW : NHWC, rc;

	if ((rc = c->create(&c->handle)) || (rc = c->set_stream(c->handle, d->stream)) ||
	    (rc = tensor(c, &c->xd, layout, z->n, z->c, z->h, z->w)) ||
	    (rc = tensor(c, &c->yd, layout, z->n, z->f, z->p, z->q)) ||
	    (rc = tensor(c, &c->from_x, NHWC, z->n, z->c, z->h, z->w)) ||
	    (rc = tensor(c, &c->to_y, NHWC, z->n, z->f, z->p, z->q)) ||
	    (rc = tensor(c, &c->from_w, NHWC, z->f, z->c, z->r, z->s)) ||
	    (rc = tensor(c, &c->own_w, layout, z->f, z->c, z->r, z->s)) ||
	    (rc = c->filter_create(&c->wd)) ||
	    (rc = c->filter_set(c->wd, HALF, layout, z->f, z->c, z->r, z->s)) ||
	    (rc = c->conv_create(&c->cd)) ||
	    (rc = c->conv_set(c->cd, z->pad_h, z->pad_w, 1, 1, 1, 1, CROSS_CORRELATION, FLOAT)) ||
	    (rc = c->conv_math(c->cd, TENSOR_OP_MATH)))
		return kl_error(KL_ECANNOT, "cuDNN cannot start: status %d", rc);
	return 0;
}

/*
 * The fastest algorithm by the library's own measurement, of those that sum the products themselves: others
 * round where the contract allows none.
 */
static int choose(struct conv *c, uint64_t x, uint64_t w, uint64_t y)
{
	struct algo found[MAX_ALGOS];
	int n = 0, rc = c->find(c->handle, c->xd, pointer(x), c->wd, pointer(w), c->cd, c->yd, pointer(y),
				MAX_ALGOS, &n, found, pointer(c->room), WORKSPACE);

	for (int i = 0; !rc && i < n; i++)
		if (!found[i].status && found[i].memory <= WORKSPACE &&
		    (found[i].algo < ALGO_FFT || found[i].algo > ALGO_WINOGRAD_NONFUSED)) {
			c->algo = found[i].algo;
			c->nroom = found[i].memory;
			return 0;
		}
	return kl_error(KL_ECANNOT, "cuDNN has no algorithm for it: status %d", rc);
}

static void close_conv(struct kl_gpu_baseline *b)
{
	struct conv *c = b->state;

	/* descriptors are the process's, which ends soon */
	if (c->handle)
		c->destroy(c->handle);
	free(c);
}

int kl_gpu_baseline_conv2d(struct kl_gpu_baseline *b, const struct kl_gpu_baseline_spec *spec,
			   const uint64_t *at)
{
	struct conv *c = b->state = kl_calloc(1, sizeof(*c));
	struct copy *p;
	struct shape z = { 0 };
	int err;

	b->close = close_conv;
	c->nchw = strstr(spec->name, "nchw") != NULL;
	if ((err = fit(&z, c, spec)) < 0 || (err = load(c)) < 0 || (err = describe(c, &z, b->device)) < 0)
		return err;
	if (!(c->room = kl_gpu_baseline_memory(b->device, WORKSPACE)))
		return kl_error(KL_ECANNOT, "no memory for cuDNN");
	b->run = run;
	if (c->nchw) {
		b->before = before_nchw;
		b->run = run_nchw;
		b->after = after_nchw;
		if (!(p = copy_of(c, b->device, at[c->x])) || before_nchw(b, at))
			return kl_error(KL_ECANNOT, "cuDNN cannot change the layout");
		err = choose(c, p->own_x, p->own_w, p->own_y);
	} else {
		err = choose(c, at[c->x], at[c->w], at[c->y]);
	}
	snprintf(b->what, sizeof(b->what), "cuDNN %zu, algorithm %d", c->version(), c->algo);
	return err;
}
