/* SPDX-License-Identifier: Apache-2.0 */
#include "inprocess.h"

#include <string.h>

#include "base/mem.h"
#include "job/tensor.h"
#include "worker/subject/poison.h"
#include "worker/subject/subject_ops.h"

enum { ROWS, COLS, X, W, Y };

struct kl_inprocess kl_inprocess;

struct function {
	struct kl_subject subject;
	struct kl_subject_spec spec;
	enum kl_dtype dtype[KL_MAX_ARGS];
	struct place {
		int64_t rows, cols;
		size_t elements[KL_MAX_ARGS];
		void *buffer[KL_MAX_ARGS];
	} place[2]; /* the main point, and spec.other */
	struct place *at;
};

static void free_function(struct kl_subject *subject)
{
	struct function *function = (struct function *)subject;

	for (int other = 0; other < 2; other++)
		for (int i = X; i <= Y; i++)
			free(function->place[other].buffer[i]);
	free(function);
}

static void place_function(struct kl_subject *subject, const struct kl_place *place)
{
	struct function *function = (struct function *)subject;

	function->at = &function->place[place->other];
}

static void *buffer_of(struct kl_subject *subject, size_t arg)
{
	return ((struct function *)subject)->at->buffer[arg];
}

static size_t bytes_of(const struct kl_subject *subject, size_t arg)
{
	const struct function *function = (const struct function *)subject;

	return function->at->elements[arg] * kl_dtype_bytes(function->dtype[arg]);
}

/* Fill y, so that elements that a kernel does not write are noticed. */
static void poison_function(struct kl_subject *subject, uint64_t seed)
{
	struct function *function = (struct function *)subject;

	memset(function->at->buffer[Y], 0xff, bytes_of(subject, Y));
}

static bool is_traced(const struct kl_subject *subject)
{
	return true;
}

static int64_t no_handshake(const struct kl_subject *subject)
{
	return 0;
}

static void no_flush(struct kl_subject *subject)
{
}

static void call_kernel(const struct place *at, const enum kl_dtype *dtype,
			kl_inprocess_float *function)
{
	float *tensor[KL_MAX_ARGS] = { NULL };

	for (int i = X; i <= Y; i++) {
		tensor[i] = kl_calloc(at->elements[i] + 1, sizeof(*tensor[i]));
		kl_tensor_convert(tensor[i], KL_F32, at->buffer[i], dtype[i], at->elements[i]);
	}
	function(at->rows, at->cols, tensor[X], tensor[W], tensor[Y]);
	kl_tensor_convert(at->buffer[Y], dtype[Y], tensor[Y], KL_F32, at->elements[Y]);
	for (int i = X; i <= Y; i++)
		free(tensor[i]);
}

static int call_function(struct kl_subject *subject, struct kl_call *out)
{
	struct function *function = (struct function *)subject;
	const struct place *at = function->at;

	*out = (struct kl_call){ .end = KL_CALL_OK, .ns = 1000, .wall_ns = 1000, .used_ns = 1000 };
	if (function->spec.kind != KL_SUBJECT_ORACLE)
		call_kernel(at, function->dtype, kl_inprocess.kernel);
	else if (function->spec.real_is_double)
		kl_inprocess.truth(at->rows, at->cols, at->buffer[X], at->buffer[W],
				   at->buffer[Y]);
	else
		kl_inprocess.honest(at->rows, at->cols, at->buffer[X], at->buffer[W],
				    at->buffer[Y]);
	return 0;
}

static const struct kl_subject_ops ops = {
	.free = free_function,
	.place = place_function,
	.buffer = buffer_of,
	.bytes = bytes_of,
	.poison = poison_function,
	.traced = is_traced,
	.handshake_ns = no_handshake,
	.flush = no_flush,
	.call = call_function,
};

static void init_place(struct place *place, const struct function *function,
		       const struct kl_point *pt)
{
	place->rows = pt->arg[ROWS].value;
	place->cols = pt->arg[COLS].value;
	for (size_t i = X; i <= Y; i++) {
		place->elements[i] = (size_t)kl_point_elements(pt, i);
		place->buffer[i] = kl_calloc(place->elements[i] + 1,
					     kl_dtype_bytes(function->dtype[i]));
	}
}

int __wrap_kl_subject_start_cpu(struct kl_subject **out, const struct kl_job *job,
				const struct kl_point *pt, const struct kl_subject_spec *spec);
int __wrap_kl_subject_start_cpu(struct kl_subject **out, const struct kl_job *job,
				const struct kl_point *pt, const struct kl_subject_spec *spec)
{
	struct function *function = kl_calloc(1, sizeof(*function));

	function->subject.ops = &ops;
	function->spec = *spec;
	for (size_t i = X; i <= Y; i++)
		function->dtype[i] = spec->kind != KL_SUBJECT_ORACLE ? job->arg[i].dtype :
				     spec->real_is_double            ? KL_F64 :
								       KL_F32;
	init_place(&function->place[0], function, pt);
	if (spec->other)
		init_place(&function->place[1], function, spec->other);
	function->at = &function->place[0];
	*out = &function->subject;
	return 0;
}
