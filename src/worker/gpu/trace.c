/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/trace.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/sha256.h"
#include "worker/gpu/baseline.h"

/*
 * Values and offsets of CUPTI's binary interface. New versions extend records only at their end;
 * the fields that are read here have kept their offsets since CUDA 9.
 */
enum { KIND_MEMCPY = 1, KIND_MEMSET = 2, KIND_KERNEL = 3, KIND_CONCURRENT_KERNEL = 10 };
enum { KERNEL_STREAM = 48, KERNEL_NAME = 104, COPY_BYTES = 8, COPY_STREAM = 40 };
#define FLUSH_FORCED 1u
#define BUFFER_BYTES ((size_t)1 << 20)

struct kl_gpu_trace {
	int (*register_callbacks)(void (*give)(uint8_t **, size_t *, size_t *),
				  void (*take)(void *, uint32_t, uint8_t *, size_t, size_t));
	int (*enable)(int kind);
	int (*flush)(uint32_t flag);
	int (*next)(uint8_t *buffer, size_t valid, uint8_t **record);
	int (*stream_id)(void *context, void *stream, uint8_t per_thread, uint32_t *id);
	const struct kl_gpu_device *device;
	uint32_t stream;
	struct kl_gpu_seen seen;
};

/* A global variable, because CUPTI's callbacks have no user argument. */
static struct kl_gpu_trace *tracer;

static void give_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = kl_malloc(BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*most = 0;
}

static uint32_t read_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

void kl_gpu_trace_name(char out[KL_GPU_TRACE_NAME], const char *name)
{
	size_t n = strlen(name), shown = KL_GPU_TRACE_NAME - 1 - KL_SHA256_HEX;
	char hex[KL_SHA256_HEX];

	if (n < KL_GPU_TRACE_NAME) {
		memcpy(out, name, n + 1);
		return;
	}
	kl_sha256_hex(hex, name, n);
	snprintf(out, KL_GPU_TRACE_NAME, "%.*s#%s", (int)shown, name, hex);
}

static void note_record(struct kl_gpu_trace *trace, const uint8_t *record)
{
	uint32_t kind = read_u32(record);
	bool kernel = kind == KIND_KERNEL || kind == KIND_CONCURRENT_KERNEL;
	struct kl_gpu_seen_one *one = &trace->seen.one[trace->seen.n];
	const char *name;

	if (!kernel && kind != KIND_MEMCPY && kind != KIND_MEMSET)
		return;
	if (trace->seen.n == KL_GPU_TRACE_MOST) {
		trace->seen.lost++;
		return;
	}
	trace->seen.n++;
	memset(one, 0, sizeof(*one));
	one->kind = kernel              ? KL_GPU_SEEN_KERNEL :
		    kind == KIND_MEMCPY ? KL_GPU_SEEN_COPY :
					  KL_GPU_SEEN_FILL;
	one->elsewhere = read_u32(record + (kernel ? KERNEL_STREAM : COPY_STREAM)) != trace->stream;
	if (kernel) {
		memcpy(&name, record + KERNEL_NAME, sizeof(name));
		kl_gpu_trace_name(one->name, name ? name : "?");
	} else {
		memcpy(&one->bytes, record + COPY_BYTES, sizeof(one->bytes));
	}
}

static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint8_t *record = NULL;

	while (tracer && valid && !tracer->next(buffer, valid, &record))
		note_record(tracer, record);
	free(buffer);
}

static int start_trace(struct kl_gpu_trace *trace)
{
	static const int kinds[] = { KIND_CONCURRENT_KERNEL, KIND_MEMCPY, KIND_MEMSET };
	int rc = trace->register_callbacks(give_buffer, take_buffer);

	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds) && !rc; i++)
		rc = trace->enable(kinds[i]);
	if (!rc)
		rc = trace->stream_id(trace->device->context, trace->device->stream, 0,
				      &trace->stream);
	return rc ? kl_error(KL_ECANNOT, "CUPTI refuses to record: error %d", rc) : 0;
}

int kl_gpu_trace_open(struct kl_gpu_trace **out, const struct kl_gpu_device *device)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so",
					     NULL };
	struct kl_gpu_trace *trace = kl_calloc(1, sizeof(*trace));
	const struct kl_gpu_symbol symbols[] = {
		{ (void **)&trace->register_callbacks, "cuptiActivityRegisterCallbacks" },
		{ (void **)&trace->enable, "cuptiActivityEnable" },
		{ (void **)&trace->flush, "cuptiActivityFlushAll" },
		{ (void **)&trace->next, "cuptiActivityGetNextRecord" },
		{ (void **)&trace->stream_id, "cuptiGetStreamIdEx" },
	};
	void *lib = NULL;
	int err = tracer ? kl_error(KL_ECANNOT,
				    "CUPTI allows one user, and this process has one already") :
			   0;

	trace->device = device;
	if (err == 0 && (err = kl_gpu_baseline_library(&lib, names)) < 0) {
		lib = dlopen("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
			     RTLD_NOW | RTLD_LOCAL);
		err = lib ? 0 : err;
	}
	if (err < 0 || (err = kl_gpu_baseline_symbols(lib, symbols, KL_ARRAY_SIZE(symbols))) < 0 ||
	    (err = start_trace(trace)) < 0) {
		free(trace);
		return err;
	}
	*out = tracer = trace;
	return 0;
}

void kl_gpu_trace_begin(struct kl_gpu_trace *trace)
{
	trace->flush(FLUSH_FORCED);
	memset(&trace->seen, 0, sizeof(trace->seen));
}

void kl_gpu_trace_end(struct kl_gpu_trace *trace, struct kl_gpu_seen *out)
{
	trace->flush(FLUSH_FORCED);
	*out = trace->seen;
}
