/* SPDX-License-Identifier: Apache-2.0 */
/* adapter - calls the functions of a contract's adapter that are not timed */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "worker/subject/subject_state.h"

/*
 * The entry of an image with an adapter is adapter_call, which calls the kernel and is timed. Three
 * further functions are not timed (docs/formats.md, "The adapter"):
 *
 *	adapter_prepare	once for each point of a child. It can run code of the candidate, so it
 *			gets no tensor, and no input is in the memory of the tensors yet. So
 *			nothing that a child computes here can depend on an input.
 *	adapter_pack	before each call, with the tensors. The gate compiled it without any file
 *			of the candidate, and it can reach no code of the candidate.
 *	adapter_finish	after each call; compiled and called in the same way as adapter_pack.
 *
 * All four share a workspace for each point, which the candidate can write as well. The child
 * cannot write the memory that holds the addresses of the workspace and the tensors. Each of the
 * four is a separate call of the stub (stub.h), with registers that the parent has reset.
 */
#define BLANK 0xff /* fills tensors and workspaces before adapter_prepare */

int kl_adapter_take(struct kl_cpu_subject *subject)
{
	int err;

	subject->work.fd = -1;
	for (uint32_t point = 0; point < subject->wire->npoint; point++)
		subject->work.bytes += subject->wire->work_bytes[point];
	if (!subject->work.bytes)
		return 0;
	err = kl_memory_shared((void **)&subject->work.map, &subject->work.fd, "workspace",
			       subject->work.bytes);
	if (err < 0)
		return kl_error_in(err, "the adapter");
	memset(subject->work.map, BLANK, subject->work.bytes);
	return 0;
}

void kl_adapter_give(struct kl_cpu_subject *subject)
{
	if (!subject->work.bytes)
		return;
	if (subject->work.map)
		munmap(subject->work.map, subject->work.bytes);
	if (subject->work.fd >= 0)
		close(subject->work.fd);
}

/* Call a function of the adapter. Return false if the child has ended; *out then says how. */
static bool call_function(struct kl_cpu_subject *subject, enum kl_wire_do which,
			  struct kl_call *out)
{
	static const char *const names[KL_IMAGE_ADAPTER] = { "adapter_prepare", "adapter_pack",
							     "adapter_finish" };
	size_t index = which - KL_WIRE_PREPARE, len;
	struct kl_times times;

	if (!subject->work.map || !subject->work.has[index])
		return true;
	if (kl_call_once(subject, which, &times, out))
		return true;
	len = strlen(out->what);
	snprintf(out->what + len, sizeof(out->what) - len, " in %s", names[index]);
	return false;
}

/* Blank all memory of the tensors, which can hold inputs of an earlier child. */
static void blank_tensors(struct kl_cpu_subject *subject)
{
	for (uint32_t i = 0; i < subject->wire->nargs; i++) {
		if (!subject->tensor[i].map)
			continue;
		memset(subject->tensor[i].map, BLANK, subject->tensor[i].bytes);
		subject->args->store[i] = 0;
	}
}

int kl_adapter_prepare(struct kl_cpu_subject *subject)
{
	struct kl_call *out = &subject->unprepared;
	bool alive = true;

	*out = (struct kl_call){ .end = KL_CALL_OK };
	if (!subject->work.map || !subject->work.has[KL_IMAGE_PREPARE])
		return 0;
	for (uint32_t point = subject->wire->npoint; point-- > 0 && alive;) {
		const struct kl_place place = { .other = point == KL_WIRE_OTHER };

		kl_cpu_subject_place(subject, &place);
		blank_tensors(subject);
		kl_buffers_surround(subject, 1);
		alive = call_function(subject, KL_WIRE_PREPARE, out);
	}
	if (alive)
		kl_cpu_subject_place(subject, &subject->first);
	kl_buffers_surround(subject, 1);
	if (!alive && out->end == KL_CALL_UNTESTED)
		return kl_error(KL_ECANNOT, "a kernel cannot be tested: it %s", out->what);
	return 0;
}

bool kl_adapter_pack(struct kl_cpu_subject *subject, struct kl_call *out)
{
	bool flush = subject->work.flush;

	subject->work.flush = false;
	if (!call_function(subject, KL_WIRE_PACK, out))
		return false;
	if (flush)
		kl_buffers_flush(subject);
	return true;
}

bool kl_adapter_finish(struct kl_cpu_subject *subject, struct kl_call *out)
{
	return call_function(subject, KL_WIRE_FINISH, out);
}
