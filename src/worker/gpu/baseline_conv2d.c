/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_conv2d - baseline cudnn.conv2d, on NHWC or NCHW tensors */
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

/* Baseline cudnn.conv2d-nchw keeps NCHW copies of at most this many sets of tensors. */
#define MAX_COPIES 64

struct copy {
	/* x: address of x in the set, which identifies the set; own_*: addresses of the copies */
	uint64_t x, own_x, own_w, own_y;
};

struct conv {
	struct kl_cudnn *cudnn;
	int x, w, y;
	int64_t n, h, wd, c, f, r, s, p, q, pad_h, pad_w;
	bool nchw;
	/* functions of cuDNN's older interface that convert a layout */
	int (*create)(void **handle);
	int (*set_stream)(void *handle, struct kl_cu_stream *s);
	int (*tensor_create)(void **t);
	int (*tensor_set)(void *t, int format, int type, int n, int c, int h, int w);
	int (*transform)(void *handle, const void *alpha, void *ad, const void *a, const void *beta,
			 void *bd, void *b);
	void *handle;
	void *desc[3][2]; /* of x, w, y: [0] in the contract's layout, [1] in NCHW */
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

static int run_conv(struct kl_gpu_baseline *baseline, const uint64_t *at)
{
	struct conv *conv = baseline->state;
	struct kl_cudnn_pack pack = pack_pointers(at[conv->x], at[conv->w], at[conv->y]);

	return kl_cudnn_run(conv->cudnn, &pack);
}

/* -- conversion to and from NCHW ------------------------------------------------------ */

enum { X, W, Y };

static int transform_layout(struct conv *conv, int tensor, bool to_nchw, uint64_t from, uint64_t to)
{
	const float one = 1, zero = 0;

	return conv->transform(conv->handle, &one, conv->desc[tensor][!to_nchw],
			       (void *)(uintptr_t)from, &zero, conv->desc[tensor][to_nchw],
			       (void *)(uintptr_t)to);
}

static struct copy *copy_of(struct conv *conv, const struct kl_gpu_device *device, uint64_t x)
{
	struct copy *copy;

	for (size_t i = 0; i < conv->ncopy; i++)
		if (conv->copy[i].x == x)
			return &conv->copy[i];
	if (conv->ncopy == MAX_COPIES)
		return NULL;
	copy = &conv->copy[conv->ncopy];
	copy->own_x = kl_gpu_baseline_memory(
		device, 2 * (uint64_t)(conv->n * conv->h * conv->wd * conv->c));
	copy->own_w = kl_gpu_baseline_memory(device,
					     2 * (uint64_t)(conv->f * conv->r * conv->s * conv->c));
	copy->own_y = kl_gpu_baseline_memory(device,
					     2 * (uint64_t)(conv->n * conv->p * conv->q * conv->f));
	copy->x = x;
	if (!copy->own_x || !copy->own_w || !copy->own_y)
		return NULL;
	conv->ncopy++;
	return copy;
}

static int before_nchw(struct kl_gpu_baseline *baseline, const uint64_t *at)
{
	struct conv *conv = baseline->state;
	struct copy *copy = copy_of(conv, baseline->device, at[conv->x]);
	int rc;

	if (!copy)
		return -1;
	rc = transform_layout(conv, X, true, at[conv->x], copy->own_x);
	return rc ? rc : transform_layout(conv, W, true, at[conv->w], copy->own_w);
}

static int run_nchw(struct kl_gpu_baseline *baseline, const uint64_t *at)
{
	struct conv *conv = baseline->state;
	struct copy *copy = copy_of(conv, baseline->device, at[conv->x]);
	struct kl_cudnn_pack pack;

	if (!copy)
		return -1;
	pack = pack_pointers(copy->own_x, copy->own_w, copy->own_y);
	return kl_cudnn_run(conv->cudnn, &pack);
}

static int after_nchw(struct kl_gpu_baseline *baseline, const uint64_t *at)
{
	struct conv *conv = baseline->state;
	struct copy *copy = copy_of(conv, baseline->device, at[conv->x]);

	return copy ? transform_layout(conv, Y, false, copy->own_y, at[conv->y]) : -1;
}

static int open_layouts(struct conv *conv, const struct kl_gpu_device *device)
{
	static const char *const names[] = { "libcudnn.so.9", NULL };
	const struct kl_gpu_symbol symbols[] = {
		{ (void **)&conv->create, "cudnnCreate" },
		{ (void **)&conv->set_stream, "cudnnSetStream" },
		{ (void **)&conv->tensor_create, "cudnnCreateTensorDescriptor" },
		{ (void **)&conv->tensor_set, "cudnnSetTensor4dDescriptor" },
		{ (void **)&conv->transform, "cudnnTransformTensor" },
	};
	const int64_t dim[3][4] = { { conv->n, conv->c, conv->h, conv->wd },
				    { conv->f, conv->c, conv->r, conv->s },
				    { conv->n, conv->f, conv->p, conv->q } };
	enum { NCHW = 0, NHWC = 1 };
	void *lib;
	int err = kl_gpu_baseline_library(&lib, names), rc;

	if (err < 0 || (err = kl_gpu_baseline_symbols(lib, symbols, KL_ARRAY_SIZE(symbols))) < 0)
		return err;
	if ((rc = conv->create(&conv->handle)) ||
	    (rc = conv->set_stream(conv->handle, device->stream)))
		return kl_error(KL_ECANNOT, "cannot start cuDNN: status %d", rc);
	for (int i = 0; i < 3; i++)
		for (int to = 0; to < 2; to++)
			if ((rc = conv->tensor_create(&conv->desc[i][to])) ||
			    (rc = conv->tensor_set(conv->desc[i][to], to ? NCHW : NHWC,
						   KL_CUDNN_HALF, (int)dim[i][0], (int)dim[i][1],
						   (int)dim[i][2], (int)dim[i][3])))
				return kl_error(KL_ECANNOT,
						"cuDNN cannot convert the layout: status %d", rc);
	return 0;
}

/* -- the graph, which has one operation ------------------------------------------------ */

static void *make_tensor(struct conv *conv, int64_t uid, int64_t n, int64_t ch, int64_t height,
			 int64_t width)
{
	const int64_t dim[4] = { n, ch, height, width };
	const int64_t nhwc[4] = { height * width * ch, 1, width * ch, ch },
		      nchw[4] = { ch * height * width, height * width, width, 1 };

	return kl_cudnn_tensor(conv->cudnn, uid, KL_CUDNN_HALF, dim, conv->nchw ? nchw : nhwc,
			       KL_CUDNN_GIVEN);
}

static void *make_operation(struct conv *conv)
{
	const int64_t one[2] = { 1, 1 }, pad[2] = { conv->pad_h, conv->pad_w }, spatial = 2;
	const float alpha = 1, beta = 0;
	struct kl_cudnn *cudnn = conv->cudnn;
	void *desc = kl_cudnn_make(cudnn, KL_CUDNN_CONV), *op;

	kl_cudnn_set_int(cudnn, desc, A_COMP, KL_CUDNN_T_DATA_TYPE, KL_CUDNN_FLOAT);
	kl_cudnn_set_int(cudnn, desc, A_MODE, KL_CUDNN_T_CONV_MODE, CROSS_CORRELATION);
	kl_cudnn_set(cudnn, desc, A_SPATIAL, KL_CUDNN_T_INT64, 1, &spatial);
	kl_cudnn_set(cudnn, desc, A_DILATIONS, KL_CUDNN_T_INT64, 2, one);
	kl_cudnn_set(cudnn, desc, A_STRIDES, KL_CUDNN_T_INT64, 2, one);
	kl_cudnn_set(cudnn, desc, A_PRE, KL_CUDNN_T_INT64, 2, pad);
	kl_cudnn_set(cudnn, desc, A_POST, KL_CUDNN_T_INT64, 2, pad);
	kl_cudnn_done(cudnn, desc);
	op = kl_cudnn_make(cudnn, KL_CUDNN_OP_CONV);
	kl_cudnn_set_desc(cudnn, op, A_OP_CONV, desc);
	kl_cudnn_set_desc(cudnn, op, A_OP_X,
			  make_tensor(conv, UID_X, conv->n, conv->c, conv->h, conv->wd));
	kl_cudnn_set_desc(cudnn, op, A_OP_W,
			  make_tensor(conv, UID_W, conv->f, conv->c, conv->r, conv->s));
	kl_cudnn_set_desc(cudnn, op, A_OP_Y,
			  make_tensor(conv, UID_Y, conv->n, conv->f, conv->p, conv->q));
	kl_cudnn_set(cudnn, op, A_OP_ALPHA, KL_CUDNN_T_FLOAT, 1, &alpha);
	kl_cudnn_set(cudnn, op, A_OP_BETA, KL_CUDNN_T_FLOAT, 1, &beta);
	return kl_cudnn_done(cudnn, op);
}

/* -- opening and closing --------------------------------------------------------------- */

static int fit_spec(struct conv *conv, const struct kl_gpu_baseline_spec *spec)
{
	const int64_t *x, *w, *y;

	conv->x = kl_gpu_baseline_tensor(spec, false, 0, 4);
	conv->w = kl_gpu_baseline_tensor(spec, false, 1, 4);
	conv->y = kl_gpu_baseline_tensor(spec, true, 0, 4);
	if (conv->x < 0 || conv->w < 0 || conv->y < 0 || spec->arg[conv->x].dtype != KL_F16 ||
	    spec->arg[conv->w].dtype != KL_F16 || spec->arg[conv->y].dtype != KL_F16)
		return kl_error(KL_ECANNOT,
				"needs tensors of f16 with four axes: inputs x and w, output y");
	x = spec->arg[conv->x].extent, w = spec->arg[conv->w].extent, y = spec->arg[conv->y].extent;
	for (int i = 0; i < 4; i++)
		if (x[i] < 1 || w[i] < 1 || y[i] < 1 || x[i] > 1 << 24 || w[i] > 1 << 24 ||
		    y[i] > 1 << 24)
			return kl_error(KL_ECANNOT, "needs tensors with extents from 1 to 2^24");
	conv->n = x[0], conv->h = x[1], conv->wd = x[2], conv->c = x[3];
	conv->f = w[0], conv->r = w[1], conv->s = w[2], conv->p = y[1], conv->q = y[2];
	conv->pad_h = (conv->p - conv->h + conv->r - 1) / 2;
	conv->pad_w = (conv->q - conv->wd + conv->s - 1) / 2;
	if (w[3] != conv->c || y[0] != conv->n || y[3] != conv->f || conv->pad_h < 0 ||
	    conv->pad_w < 0 || conv->p != conv->h + 2 * conv->pad_h - conv->r + 1 ||
	    conv->q != conv->wd + 2 * conv->pad_w - conv->s + 1)
		return kl_error(KL_ECANNOT,
				"needs x [N,H,W,C], w [F,R,S,C], y [N,P,Q,F], stride 1");
	return 0;
}

static void close_conv(struct kl_gpu_baseline *baseline)
{
	struct conv *conv = baseline->state;

	kl_cudnn_free(conv->cudnn);
	free(conv);
}

int kl_gpu_baseline_conv2d(struct kl_gpu_baseline *baseline,
			   const struct kl_gpu_baseline_spec *spec, const uint64_t *at)
{
	struct conv *conv = baseline->state = kl_calloc(1, sizeof(*conv));
	struct kl_cudnn_pack pack;
	struct copy *copy;
	void *op;
	int err;

	baseline->close = close_conv;
	baseline->run = run_conv;
	conv->nchw = strstr(spec->name, "nchw") != NULL;
	if ((err = fit_spec(conv, spec)) < 0 ||
	    (err = kl_cudnn_open(&conv->cudnn, baseline->device)) < 0)
		return err;
	pack = pack_pointers(at[conv->x], at[conv->w], at[conv->y]);
	if (conv->nchw) {
		baseline->before = before_nchw;
		baseline->run = run_nchw;
		baseline->after = after_nchw;
		if ((err = open_layouts(conv, baseline->device)) < 0)
			return err;
		if (before_nchw(baseline, at) ||
		    !(copy = copy_of(conv, baseline->device, at[conv->x])))
			return kl_error(KL_ECANNOT, "cuDNN cannot convert the layout");
		pack = pack_pointers(copy->own_x, copy->own_w, copy->own_y);
	}
	op = make_operation(conv);
	snprintf(baseline->what, sizeof(baseline->what), "cuDNN %zu",
		 kl_cudnn_version(conv->cudnn));
	return kl_cudnn_choose(conv->cudnn, &op, 1, &pack);
}
