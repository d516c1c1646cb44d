/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_conv2d - baseline cudnn.conv2d, on NHWC or NCHW */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "job/job.h"
#include "worker/gpu/cudnn.h"

enum {
	A_COMP = 100,
	A_MODE = 101,
	A_DILATIONS = 102,
	A_STRIDES = 103,
	A_POST = 104,
	A_PRE = 105,
	A_SPATIAL = 106,
	A_OP_ALPHA = 700,
	A_OP_BETA = 701,
	A_OP_CONV = 702,
	A_OP_W = 703,
	A_OP_X = 704,
	A_OP_Y = 705,
};
enum { CROSS_CORRELATION = 1 };
enum { UID_X = 1, UID_W, UID_Y };

/* NCHW: tensors of its own for each set that it is called on. */
#define MAX_COPIES 64

struct copy {
	uint64_t x, own_x, own_w, own_y; /* x: the caller's, which says whose copy this is */
};

struct conv {
	struct kl_cudnn *cudnn;
	int x, w, y;
	int64_t n, h, wd, c, f, r, s, p, q, pad_h, pad_w;
	bool nchw;
	/* the legacy calls that change a layout */
	int (*create)(void **handle);
	int (*set_stream)(void *handle, struct kl_cu_stream *s);
	int (*tensor_create)(void **t);
	int (*tensor_set)(void *t, int format, int type, int n, int c, int h, int w);
	int (*transform)(void *handle, const void *alpha, void *ad, const void *a, const void *beta,
			 void *bd, void *b);
	void *handle;
	void *desc[3][2]; /* x, w, y; in the contract's layout, in NCHW */
	struct copy copy[MAX_COPIES];
	size_t ncopy;
};

static struct kl_cudnn_pack pack_pointers(uint64_t x, uint64_t w, uint64_t y)
{
	return (struct kl_cudnn_pack){
		.uid = { UID_X, UID_W, UID_Y },
		.at = { (void *)(uintptr_t)x, (void *)(uintptr_t)w, (void *)(uintptr_t)y },
		.n = 3,
	};
}

static int run_conv(struct kl_gpu_baseline *b, const uint64_t *at)
{
	struct conv *c = b->state;
	struct kl_cudnn_pack p = pack_pointers(at[c->x], at[c->w], at[c->y]);

	return kl_cudnn_run(c->cudnn, &p);
}

/* -- NCHW --------------------------------------------------------------------------- */

enum { X, W, Y };

static int transform_layout(struct conv *c, int what, bool to_nchw, uint64_t from, uint64_t to)
{
	const float one = 1, zero = 0;

	return c->transform(c->handle, &one, c->desc[what][!to_nchw], (void *)(uintptr_t)from,
			    &zero, c->desc[what][to_nchw], (void *)(uintptr_t)to);
}

static struct copy *copy_of(struct conv *c, const struct kl_gpu_device *d, uint64_t x)
{
	struct copy *p;

	for (size_t i = 0; i < c->ncopy; i++)
		if (c->copy[i].x == x)
			return &c->copy[i];
	if (c->ncopy == MAX_COPIES)
		return NULL;
	p = &c->copy[c->ncopy];
	p->own_x = kl_gpu_baseline_memory(d, 2 * (uint64_t)(c->n * c->h * c->wd * c->c));
	p->own_w = kl_gpu_baseline_memory(d, 2 * (uint64_t)(c->f * c->r * c->s * c->c));
	p->own_y = kl_gpu_baseline_memory(d, 2 * (uint64_t)(c->n * c->p * c->q * c->f));
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
	rc = transform_layout(c, X, true, at[c->x], p->own_x);
	return rc ? rc : transform_layout(c, W, true, at[c->w], p->own_w);
}

static int run_nchw(struct kl_gpu_baseline *b, const uint64_t *at)
{
	struct conv *c = b->state;
	struct copy *copy = copy_of(c, b->device, at[c->x]);
	struct kl_cudnn_pack p;

	if (!copy)
		return -1;
	p = pack_pointers(copy->own_x, copy->own_w, copy->own_y);
	return kl_cudnn_run(c->cudnn, &p);
}

static int after_nchw(struct kl_gpu_baseline *b, const uint64_t *at)
{
	struct conv *c = b->state;
	struct copy *p = copy_of(c, b->device, at[c->x]);

	return p ? transform_layout(c, Y, false, p->own_y, at[c->y]) : -1;
}

static int open_layouts(struct conv *c, const struct kl_gpu_device *d)
{
	static const char *const names[] = { "libcudnn.so.9", NULL };
	const struct kl_gpu_symbol symbols[] = {
		{ (void **)&c->create, "cudnnCreate" },
		{ (void **)&c->set_stream, "cudnnSetStream" },
		{ (void **)&c->tensor_create, "cudnnCreateTensorDescriptor" },
		{ (void **)&c->tensor_set, "cudnnSetTensor4dDescriptor" },
		{ (void **)&c->transform, "cudnnTransformTensor" },
	};
	const int64_t dim[3][4] = { { c->n, c->c, c->h, c->wd },
				    { c->f, c->c, c->r, c->s },
				    { c->n, c->f, c->p, c->q } };
	enum { NCHW = 0, NHWC = 1 };
	void *lib;
	int err = kl_gpu_baseline_library(&lib, names), rc;

	if (err < 0 || (err = kl_gpu_baseline_symbols(lib, symbols, KL_ARRAY_SIZE(symbols))) < 0)
		return err;
	if ((rc = c->create(&c->handle)) || (rc = c->set_stream(c->handle, d->stream)))
		return kl_error(KL_ECANNOT, "cuDNN cannot start: status %d", rc);
	for (int i = 0; i < 3; i++)
		for (int to = 0; to < 2; to++)
			if ((rc = c->tensor_create(&c->desc[i][to])) ||
			    (rc = c->tensor_set(c->desc[i][to], to ? NCHW : NHWC, KL_CUDNN_HALF,
						(int)dim[i][0], (int)dim[i][1], (int)dim[i][2],
						(int)dim[i][3])))
				return kl_error(KL_ECANNOT,
						"cuDNN cannot change the layout: status %d", rc);
	return 0;
}

/* -- the graph: one operation ---------------------------------------------------------- */

static void *make_tensor(struct conv *c, int64_t uid, int64_t n, int64_t ch, int64_t h, int64_t w)
{
	const int64_t dim[4] = { n, ch, h, w };
	const int64_t last[4] = { h * w * ch, 1, w * ch, ch },
		      first[4] = { ch * h * w, h * w, w, 1 };

	return kl_cudnn_tensor(c->cudnn, uid, KL_CUDNN_HALF, dim, c->nchw ? first : last,
			       KL_CUDNN_GIVEN);
}

static void *make_operation(struct conv *c)
{
	const int64_t one[2] = { 1, 1 }, pad[2] = { c->pad_h, c->pad_w }, spatial = 2;
	const float alpha = 1, beta = 0;
	struct kl_cudnn *x = c->cudnn;
	void *d = kl_cudnn_make(x, KL_CUDNN_CONV), *op;

	kl_cudnn_set_int(x, d, A_COMP, KL_CUDNN_T_DATA_TYPE, KL_CUDNN_FLOAT);
	kl_cudnn_set_int(x, d, A_MODE, KL_CUDNN_T_CONV_MODE, CROSS_CORRELATION);
	kl_cudnn_set(x, d, A_SPATIAL, KL_CUDNN_T_INT64, 1, &spatial);
	kl_cudnn_set(x, d, A_DILATIONS, KL_CUDNN_T_INT64, 2, one);
	kl_cudnn_set(x, d, A_STRIDES, KL_CUDNN_T_INT64, 2, one);
	kl_cudnn_set(x, d, A_PRE, KL_CUDNN_T_INT64, 2, pad);
	kl_cudnn_set(x, d, A_POST, KL_CUDNN_T_INT64, 2, pad);
	kl_cudnn_done(x, d);
	op = kl_cudnn_make(x, KL_CUDNN_OP_CONV);
	kl_cudnn_set_desc(x, op, A_OP_CONV, d);
	kl_cudnn_set_desc(x, op, A_OP_X, make_tensor(c, UID_X, c->n, c->c, c->h, c->wd));
	kl_cudnn_set_desc(x, op, A_OP_W, make_tensor(c, UID_W, c->f, c->c, c->r, c->s));
	kl_cudnn_set_desc(x, op, A_OP_Y, make_tensor(c, UID_Y, c->n, c->f, c->p, c->q));
	kl_cudnn_set(x, op, A_OP_ALPHA, KL_CUDNN_T_FLOAT, 1, &alpha);
	kl_cudnn_set(x, op, A_OP_BETA, KL_CUDNN_T_FLOAT, 1, &beta);
	return kl_cudnn_done(x, op);
}

/* -- opening -------------------------------------------------------------------------- */

static int fit_spec(struct conv *c, const struct kl_gpu_baseline_spec *s)
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
		if (x[i] < 1 || w[i] < 1 || y[i] < 1 || x[i] > 1 << 24 || w[i] > 1 << 24 ||
		    y[i] > 1 << 24)
			return kl_error(KL_ECANNOT, "an extent is out of range");
	c->n = x[0], c->h = x[1], c->wd = x[2], c->c = x[3];
	c->f = w[0], c->r = w[1], c->s = w[2], c->p = y[1], c->q = y[2];
	c->pad_h = (c->p - c->h + c->r - 1) / 2;
	c->pad_w = (c->q - c->wd + c->s - 1) / 2;
	if (w[3] != c->c || y[0] != c->n || y[3] != c->f || c->pad_h < 0 || c->pad_w < 0 ||
	    c->p != c->h + 2 * c->pad_h - c->r + 1 || c->q != c->wd + 2 * c->pad_w - c->s + 1)
		return kl_error(KL_ECANNOT,
				"needs x [N,H,W,C], w [F,R,S,C], y [N,P,Q,F], stride 1");
	return 0;
}

static void close_conv(struct kl_gpu_baseline *b)
{
	struct conv *c = b->state;

	kl_cudnn_free(c->cudnn);
	free(c);
}

int kl_gpu_baseline_conv2d(struct kl_gpu_baseline *b, const struct kl_gpu_baseline_spec *spec,
			   const uint64_t *at)
{
	struct conv *c = b->state = kl_calloc(1, sizeof(*c));
	struct kl_cudnn_pack p;
	struct copy *copy;
	void *op;
	int err;

	b->close = close_conv;
	b->run = run_conv;
	c->nchw = strstr(spec->name, "nchw") != NULL;
	if ((err = fit_spec(c, spec)) < 0 || (err = kl_cudnn_open(&c->cudnn, b->device)) < 0)
		return err;
	p = pack_pointers(at[c->x], at[c->w], at[c->y]);
	if (c->nchw) {
		b->before = before_nchw;
		b->run = run_nchw;
		b->after = after_nchw;
		if ((err = open_layouts(c, b->device)) < 0)
			return err;
		if (before_nchw(b, at) || !(copy = copy_of(c, b->device, at[c->x])))
			return kl_error(KL_ECANNOT, "cuDNN cannot change the layout");
		p = pack_pointers(copy->own_x, copy->own_w, copy->own_y);
	}
	op = make_operation(c);
	snprintf(b->what, sizeof(b->what), "cuDNN %zu", kl_cudnn_version(c->cudnn));
	return kl_cudnn_choose(c->cudnn, &op, 1, &p);
}
