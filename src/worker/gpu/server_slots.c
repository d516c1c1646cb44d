/* SPDX-License-Identifier: Apache-2.0 */
/* server_slots - fills and empties the slots of the GPU process: modules, tensors, bindings */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "worker/gpu/plan_text.h"
#include "worker/gpu/server.h"

int kl_gpu_server_get_bound(struct kl_gpu_bound **out, struct kl_gpu_server *server, uint32_t slot)
{
	if (slot >= KL_GPU_MAX_BINDS || !server->bind[slot].bound)
		return kl_error(KL_EINVALID, "there is no binding %u", slot);
	*out = server->bind[slot].bound;
	return 0;
}

int kl_gpu_server_get_set(struct kl_gpu_server_set **out, struct kl_gpu_server *server,
			  uint32_t slot)
{
	if (slot >= KL_GPU_MAX_SETS || !server->set[slot].set)
		return kl_error(KL_EINVALID, "there is no set of tensors %u", slot);
	*out = &server->set[slot];
	return 0;
}

static void drop_bind(struct kl_gpu_server *server, uint32_t slot)
{
	kl_gpu_bound_free(server->bind[slot].bound, server->device);
	server->bind[slot].bound = NULL;
}

/* Free the bindings to the set, then the set. */
static void drop_set(struct kl_gpu_server *server, uint32_t slot)
{
	struct kl_gpu_server_set *set = &server->set[slot];

	for (uint32_t i = 0; i < KL_GPU_MAX_BINDS; i++)
		if (server->bind[i].bound && server->bind[i].set == slot)
			drop_bind(server, i);
	kl_gpu_set_free(set->set, server->device);
	/* with host code, the worker never sends the same memory again */
	kl_gpu_host_unmap(&set->map, server->launcher ? NULL : &server->maps, server->device);
	memset(set, 0, sizeof(*set));
}

static void drop_module(struct kl_gpu_server *server, uint32_t slot)
{
	for (uint32_t i = 0; i < KL_GPU_MAX_BINDS; i++)
		if (server->bind[i].bound && server->bind[i].module == slot)
			drop_bind(server, i);
	kl_gpu_module_free(server->module[slot], server->device);
	server->module[slot] = NULL;
}

int kl_gpu_server_put_module(struct kl_gpu_server *server, const void *request, int fd)
{
	const struct kl_gpu_put_module *module = request;
	struct kl_gpu_reply reply = { 0 };
	void *image = NULL;
	int err = 0;

	if (module->head.slot >= KL_GPU_MAX_MODULES || module->bytes > KL_GPU_MAX_CUBIN)
		err = kl_error(KL_EINVALID, "the cubin is too large, or its slot does not exist");
	if (err == 0)
		err = kl_gpu_server_map(&image, fd, module->bytes);
	if (err == 0) {
		drop_module(server, module->head.slot);
		err = kl_gpu_module_load(&server->module[module->head.slot], server->device, image,
					 module->bytes);
		munmap(image, module->bytes);
	}
	return kl_gpu_server_answer(server, request, err, &reply, sizeof(reply));
}

/*
 * Return true if the host writes as many elements as the kernel reads, in a known type that is not
 * wider than the type that the kernel reads.
 */
static bool is_widened(const struct kl_gpu_tensor_layout *layout)
{
	if (layout->from > KL_GPU_FROM_F32 || (layout->real != 4 && layout->real != 8) ||
	    layout->bytes % layout->real)
		return false;
	return kl_widen_bytes(layout->from) <= layout->real &&
	       layout->upload == layout->bytes / layout->real * kl_widen_bytes(layout->from);
}

static int check_layout(const struct kl_gpu_put_set *set)
{
	if (set->head.slot >= KL_GPU_MAX_SETS || set->n > KL_GPU_MAX_TENSORS ||
	    set->host_bytes > (uint64_t)1 << 46)
		return kl_error(KL_EINVALID,
				"the set has too many tensors, too much memory, or no valid slot");
	for (uint32_t i = 0; i < set->n; i++) {
		uint64_t n = kl_gpu_tensor_host_bytes(&set->layout[i]);

		if (set->layout[i].from && !is_widened(&set->layout[i]))
			return kl_error(KL_EINVALID,
					"tensor %u cannot be widened from elements of that type",
					i);
		if (set->layout[i].tensor &&
		    (set->offset[i] % 8 || set->offset[i] > set->host_bytes ||
		     n > set->host_bytes - set->offset[i]))
			return kl_error(KL_EINVALID, "tensor %u lies outside of the shared memory",
					i);
	}
	return 0;
}

int kl_gpu_server_put_set(struct kl_gpu_server *server, const void *request, int fd)
{
	const struct kl_gpu_put_set *put = request;
	struct kl_gpu_reply reply = { 0 };
	struct kl_gpu_server_set *set;
	int err = check_layout(put);

	if (err == 0) {
		set = &server->set[put->head.slot];
		drop_set(server, put->head.slot);
		err = kl_gpu_host_map(&set->map, &server->maps, server->device, fd, put->host_bytes,
				      put->pin);
	}
	if (err == 0) {
		set->host = set->map.at;
		memcpy(set->offset, put->offset, sizeof(set->offset));
		err = kl_gpu_set_make(&set->set, server->device, put->layout, put->n, put->right);
		if (err < 0)
			drop_set(server, put->head.slot);
	}
	return kl_gpu_server_answer(server, request, err, &reply, sizeof(reply));
}

/* Run the plan's `prepare` launches. If one faults or hangs, describe that in `out`. */
static int prepare_binding(struct kl_gpu_server *server, const struct kl_gpu_put_bind *bind,
			   struct kl_gpu_bound *bound, struct kl_gpu_called *out)
{
	int ran = 0;
	int err = kl_gpu_bound_prepare(bound, server->device, bind->seed, bind->limit_ms, &ran);

	if (err != KL_ENO)
		return err;
	out->end = ran == KL_CU_NOT_READY ? KL_GPU_CALL_HANG : KL_GPU_CALL_FAULT;
	out->r.state = ran == KL_CU_NOT_READY ? KL_GPU_STUCK : KL_GPU_LOST;
	kl_gpu_driver_name(server->cu, ran, out->name);
	snprintf(out->kernel, sizeof(out->kernel), "%s", kl_gpu_bound_preparer(bound));
	return 0;
}

static int make_binding(struct kl_gpu_server *server, const struct kl_gpu_put_bind *bind, int fd,
			struct kl_gpu_called *out)
{
	/* the plan owns the bytes of struct arguments, which kl_gpu_bound_make() copies */
	KL_AUTO(kl_plan_freep) struct kl_plan *plan = NULL;
	struct kl_gpu_server_set *set = NULL;
	struct kl_gpu_bound *bound = NULL;
	void *text = NULL;
	struct kl_plan_at *at = NULL;
	int err;

	if (bind->head.slot >= KL_GPU_MAX_BINDS || bind->module >= KL_GPU_MAX_MODULES ||
	    !server->module[bind->module] || bind->bytes > KL_GPU_MAX_PLAN)
		return kl_error(
			KL_EINVALID,
			"the binding's plan is too large, or its slot or module does not exist");
	if ((err = kl_gpu_server_get_set(&set, server, bind->set)) < 0 ||
	    (err = kl_gpu_server_map(&text, fd, bind->bytes)) < 0)
		return err;
	drop_bind(server, bind->head.slot);
	err = kl_gpu_doc_resolve(&at, &plan, text, bind->bytes, set->set, &server->device->facts);
	munmap(text, bind->bytes);
	if (err < 0 ||
	    (err = kl_gpu_bound_make(&bound, server->device, server->module[bind->module], set->set,
				     at, kl_plan_quirks(plan))) < 0)
		return err;
	server->bind[bind->head.slot].bound = bound;
	server->bind[bind->head.slot].module = bind->module;
	server->bind[bind->head.slot].set = bind->set;
	return prepare_binding(server, bind, bound, out);
}

int kl_gpu_server_put_bind(struct kl_gpu_server *server, const void *request, int fd)
{
	struct kl_gpu_called out = { .launch = -1, .arg = -1 };

	return kl_gpu_server_answer(server, request, make_binding(server, request, fd, &out), &out,
				    sizeof(out));
}

int kl_gpu_server_drop(struct kl_gpu_server *server, const void *request, int fd)
{
	const struct kl_gpu_drop *drop = request;
	struct kl_gpu_reply reply = { 0 };
	int err = 0;

	if (drop->op == KL_GPU_OP_MODULE && drop->head.slot < KL_GPU_MAX_MODULES)
		drop_module(server, drop->head.slot);
	else if (drop->op == KL_GPU_OP_SET && drop->head.slot < KL_GPU_MAX_SETS)
		drop_set(server, drop->head.slot);
	else if (drop->op == KL_GPU_OP_BIND && drop->head.slot < KL_GPU_MAX_BINDS)
		drop_bind(server, drop->head.slot);
	else
		err = kl_error(KL_EINVALID, "the slot to drop does not exist");
	return kl_gpu_server_answer(server, request, err, &reply, sizeof(reply));
}
