/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_onednn - the baseline onednn.conv2d */
#include "worker/subject/baseline.h"

#include <stdlib.h>

#include "base/error.h"

/*
 * Only types and constants come from the headers; every function is looked up in the library at run
 * time. Structs change with the major version, so the library must have the same major version as
 * the headers.
 */
#if defined(__has_include)
#if __has_include(<oneapi/dnnl/dnnl.h>)
#define HAVE_ONEDNN 1
#endif
#endif

#ifndef HAVE_ONEDNN
int kl_baseline_onednn_conv2d(struct kl_baseline_call *out, const struct kl_wire *w,
			      void *const *data)
{
	return kl_error(KL_ECANNOT, "this program was built without oneDNN's headers; run `make "
				    "deps` and build it again");
}
#else
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

/* clang-format off */
#define FUNCTIONS(X)						\
	X(dnnl_version) X(dnnl_engine_create) X(dnnl_stream_create)	\
	X(dnnl_memory_create) X(dnnl_memory_get_data_handle)		\
	X(dnnl_primitive_desc_query_md) X(dnnl_primitive_create)	\
	X(dnnl_primitive_execute) X(dnnl_stream_wait)			\
	X(dnnl_reorder_primitive_desc_create)
/* clang-format on */

#if DNNL_VERSION_MAJOR >= 3
/* clang-format off */
#define MORE_FUNCTIONS(X) X(dnnl_memory_desc_create_with_tag) X(dnnl_memory_desc_equal) \
	X(dnnl_convolution_forward_primitive_desc_create)
/* clang-format on */
typedef dnnl_memory_desc_t md_t;
typedef const_dnnl_memory_desc_t md_in_t;
#define IN(md) (md)
#else
/* clang-format off */
#define MORE_FUNCTIONS(X) X(dnnl_memory_desc_init_by_tag) X(dnnl_memory_desc_equal) \
	X(dnnl_convolution_forward_desc_init) X(dnnl_primitive_desc_create)
/* clang-format on */
typedef dnnl_memory_desc_t md_t;
typedef const dnnl_memory_desc_t *md_in_t;
#define IN(md) (&(md))
#endif

/* Pointers to the library's functions, each with the name and the type of its function. */
struct api {
#define MEMBER(f) __typeof__(&f) f;
	/* clang-format off */
	FUNCTIONS(MEMBER) MORE_FUNCTIONS(MEMBER)
/* clang-format on */
#undef MEMBER
};

struct conv {
	struct api api;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	md_t x_md, w_md, y_md, any_md;
	dnnl_primitive_desc_t pd;
	dnnl_memory_t x, w, y, packed; /* packed == w if no reordering is needed */
	dnnl_primitive_t reorder, primitive;
};

static void run_conv(void *state)
{
	struct conv *conv = state;
	dnnl_exec_arg_t pack[] = { { DNNL_ARG_FROM, conv->w }, { DNNL_ARG_TO, conv->packed } };
	dnnl_exec_arg_t args[] = {
		{ DNNL_ARG_SRC, conv->x },
		{ DNNL_ARG_WEIGHTS, conv->packed },
		{ DNNL_ARG_DST, conv->y },
	};

	if (conv->reorder)
		conv->api.dnnl_primitive_execute(conv->reorder, conv->stream, 2, pack);
	conv->api.dnnl_primitive_execute(conv->primitive, conv->stream, 3, args);
	conv->api.dnnl_stream_wait(conv->stream);
}

static int load_onednn(struct api *api)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("libdnnl.so.%d", DNNL_VERSION_MAJOR);
	void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return kl_error(KL_ECANNOT, "oneDNN is not installed (%s); run `make deps`", name);
#define LOOK_UP(f)                                 \
	if (!(*(void **)&api->f = dlsym(lib, #f))) \
		return kl_error(KL_ECANNOT, "the installed oneDNN has no function %s", #f);
	/* clang-format off */
	FUNCTIONS(LOOK_UP) MORE_FUNCTIONS(LOOK_UP)
/* clang-format on */
#undef LOOK_UP
		if (api->dnnl_version()->major != DNNL_VERSION_MAJOR) return kl_error(
			KL_ECANNOT,
			"oneDNN %d is installed, but this program was built for oneDNN %d; build "
			"it again",
			api->dnnl_version()->major, DNNL_VERSION_MAJOR);
	return 0;
}

static bool describe_layout(struct conv *conv, md_t *out, const dnnl_dims_t dims,
			    dnnl_format_tag_t tag)
{
#if DNNL_VERSION_MAJOR >= 3
	return conv->api.dnnl_memory_desc_create_with_tag(out, 4, dims, dnnl_f32, tag) ==
	       dnnl_success;
#else
	return conv->api.dnnl_memory_desc_init_by_tag(out, 4, dims, dnnl_f32, tag) == dnnl_success;
#endif
}

static bool choose_layouts(struct conv *conv)
{
	static const dnnl_dims_t strides = { 1, 1 }, dilates = { 0, 0 }, pad = { 1, 1 };
#if DNNL_VERSION_MAJOR >= 3
	return conv->api.dnnl_convolution_forward_primitive_desc_create(
		       &conv->pd, conv->engine, dnnl_forward_inference, dnnl_convolution_auto,
		       conv->x_md, conv->any_md, NULL, conv->y_md, strides, dilates, pad, pad,
		       NULL) == dnnl_success;
#else
	dnnl_convolution_desc_t desc;

	(void)dilates;
	return conv->api.dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference,
							    dnnl_convolution_auto, &conv->x_md,
							    &conv->any_md, NULL, &conv->y_md,
							    strides, pad, pad) == dnnl_success &&
	       conv->api.dnnl_primitive_desc_create(&conv->pd, &desc, NULL, conv->engine, NULL) ==
		       dnnl_success;
#endif
}

static bool pack_weights(struct conv *conv, md_in_t packed_md)
{
	dnnl_primitive_desc_t pd;

	if (conv->api.dnnl_memory_desc_equal(packed_md, IN(conv->w_md))) {
		conv->packed = conv->w;
		return true;
	}
	return conv->api.dnnl_memory_create(&conv->packed, packed_md, conv->engine,
					    DNNL_MEMORY_ALLOCATE) == dnnl_success &&
	       conv->api.dnnl_reorder_primitive_desc_create(&pd, IN(conv->w_md), conv->engine,
							    packed_md, conv->engine,
							    NULL) == dnnl_success &&
	       conv->api.dnnl_primitive_create(&conv->reorder, pd) == dnnl_success;
}

static int build_conv(struct conv *conv, const int64_t dim[5], void *x, void *w, void *y)
{
	const dnnl_dims_t xd = { dim[0], dim[3], dim[1], dim[2] }, wd = { dim[4], dim[3], 3, 3 };
	const dnnl_dims_t yd = { dim[0], dim[4], dim[1], dim[2] };

	if (conv->api.dnnl_engine_create(&conv->engine, dnnl_cpu, 0) != dnnl_success ||
	    conv->api.dnnl_stream_create(&conv->stream, conv->engine, dnnl_stream_default_flags) !=
		    dnnl_success ||
	    !describe_layout(conv, &conv->x_md, xd, dnnl_nhwc) ||
	    !describe_layout(conv, &conv->w_md, wd, dnnl_ohwi) ||
	    !describe_layout(conv, &conv->y_md, yd, dnnl_nhwc) ||
	    !describe_layout(conv, &conv->any_md, wd, dnnl_format_tag_any) ||
	    !choose_layouts(conv) ||
	    conv->api.dnnl_memory_create(&conv->x, IN(conv->x_md), conv->engine, x) !=
		    dnnl_success ||
	    conv->api.dnnl_memory_create(&conv->w, IN(conv->w_md), conv->engine, w) !=
		    dnnl_success ||
	    conv->api.dnnl_memory_create(&conv->y, IN(conv->y_md), conv->engine, y) !=
		    dnnl_success ||
	    !pack_weights(conv, conv->api.dnnl_primitive_desc_query_md(conv->pd,
								       dnnl_query_weights_md, 0)) ||
	    conv->api.dnnl_primitive_create(&conv->primitive, conv->pd) != dnnl_success)
		return kl_error(KL_ECANNOT, "oneDNN does not support this convolution");
	return 0;
}

int kl_baseline_onednn_conv2d(struct kl_baseline_call *out, const struct kl_wire *wire,
			      void *const *data)
{
	struct conv *conv = kl_calloc(1, sizeof(*conv)); /* lives as long as the process */
	int x = kl_baseline_arg(wire, KL_ARG_IN, 0), w = kl_baseline_arg(wire, KL_ARG_IN, 1);
	int y = kl_baseline_arg(wire, KL_ARG_OUT, 0), err;
	int64_t dim[5]; /* N H W C F */

	for (int i = 0; i < 5; i++) {
		int at = kl_baseline_arg(wire, KL_ARG_DIM, i);

		if (at < 0)
			return kl_error(KL_ECANNOT, "needs five dims, in the order N H W C F");
		dim[i] = wire->arg[KL_WIRE_MAIN][at].extent[0];
	}
	if (wire->nargs != 8 ||
	    !kl_baseline_f32(wire, x, (int64_t[]){ dim[0], dim[1], dim[2], dim[3] }, 4) ||
	    !kl_baseline_f32(wire, w, (int64_t[]){ dim[4], 3, 3, dim[3] }, 4) ||
	    !kl_baseline_f32(wire, y, (int64_t[]){ dim[0], dim[1], dim[2], dim[4] }, 4))
		return kl_error(KL_ECANNOT, "needs two inputs, f32 [N,H,W,C] and [F,3,3,C], an "
					    "output, f32 [N,H,W,F], and no other argument");
	if ((err = load_onednn(&conv->api)) < 0 ||
	    (err = build_conv(conv, dim, data[x], data[w], data[y])) < 0)
		return err;
	*out = (struct kl_baseline_call){ .run = run_conv, .state = conv };
	return 0;
}
#endif
