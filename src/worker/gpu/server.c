/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/sealed.h"
#include "worker/gpu/plan_text.h"
#include "worker/gpu/wall.h"

#define ENDED 1 /* the socket is closed: no more requests */
#define SETTLE_MS 1000

/* -- receiving requests, sending replies ------------------------------------------ */

/*
 * Return the state of the process (enum kl_gpu_state_after). Waiting for SETTLE_MS is enough: only
 * the gate's own small kernels can still be running, unless a kernel of the candidate hangs.
 */
static int state_of(const struct kl_gpu_server *server)
{
	int rc = server->device ? kl_gpu_wait(server->device, SETTLE_MS) : 0;

	return !rc ? KL_GPU_WELL : rc == KL_CU_NOT_READY ? KL_GPU_STUCK : KL_GPU_LOST;
}

int kl_gpu_server_reply(struct kl_gpu_server *server, const struct kl_gpu_head *request,
			void *reply, size_t n)
{
	struct kl_gpu_reply *common = reply;

	common->head = *request;
	common->head.bytes = (uint32_t)n;
	if (common->state == KL_GPU_WELL)
		common->state = state_of(server);
	if (send(server->socket, reply, n, MSG_NOSIGNAL) != (ssize_t)n)
		return kl_error_errno("cannot send a reply");
	return 0;
}

/*
 * Send a reply of `n` bytes with `err`, the result of a handler; if that is an error, with its
 * message.
 */
static int send_answer(struct kl_gpu_server *server, const struct kl_gpu_head *request, int err,
		       void *reply, size_t n)
{
	struct kl_gpu_reply *common = reply;

	common->err = err;
	if (err < 0)
		snprintf(common->message, sizeof(common->message), "%s", kl_error_last());
	kl_error_clear();
	return kl_gpu_server_reply(server, request, reply, n);
}

/*
 * Receive a message of *n bytes into `room`. *fd is the descriptor sent with it; -1: none. Returns
 * ENDED if the socket is closed.
 */
static int receive_request(int socket, void *room, size_t *n, int *fd)
{
	union {
		char bytes[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec io = { .iov_base = room, .iov_len = KL_GPU_WIRE_MAX };
	struct msghdr msg = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int all[4], got = 0;
	ssize_t have;

	*fd = -1;
	do
		have = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	while (have < 0 && errno == EINTR);
	if (have <= 0)
		return ENDED;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		got = (int)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(all, CMSG_DATA(cmsg), (size_t)got * sizeof(int));
	}
	for (int i = 1; i < got; i++)
		close(all[i]);
	if (got)
		*fd = all[0];
	if (got > 1 || msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return kl_error(KL_EINVALID,
				"the request is too large or has more than one descriptor");
	*n = (size_t)have;
	return 0;
}

int kl_gpu_server_map(void **out, int fd, uint64_t bytes)
{
	void *map;

	if (!bytes || !kl_sealed_check(fd, bytes))
		return kl_error(KL_EINVALID, "the request came without sealed memory of %llu bytes",
				(unsigned long long)bytes);
	map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return kl_error_errno("cannot map the memory that the request passed");
	*out = map;
	return 0;
}

/* -- slots ------------------------------------------------------------------------ */

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

/* -- operations ----------------------------------------------------------------------- */

static int serve_hello(struct kl_gpu_server *server, const void *request, int fd)
{
	const struct kl_gpu_head *head = request;
	struct kl_gpu_hello hello = { 0 };
	int err = 0, n = 0, rc;

	if (head->slot == KL_GPU_FOR_HOST && server->closed != KL_GPU_CLOSED_WALL && !server->cu)
		err = kl_gpu_wall(&server->closed);
	if (!err && !server->cu)
		err = kl_gpu_driver_open(&server->cu);
	if (err == 0 && (rc = server->cu->init(0)))
		err = kl_gpu_error(server->cu, rc, KL_ECANNOT,
				   "no GPU here: CUDA (driver %s, CUDA %d.%d) cannot "
				   "start",
				   *server->cu->build ? server->cu->build : "of unknown version",
				   server->cu->version / 1000, server->cu->version % 1000 / 10);
	if (err == 0 && ((rc = server->cu->device_count(&n)) || n < 1))
		err = kl_error(KL_ECANNOT, "no GPU here: the CUDA driver sees none");
	for (int i = 0; i < n && i < KL_GPU_MAX_DEVICES && err == 0; i++) {
		err = kl_gpu_facts_read(&hello.device[i], server->cu, i);
		hello.ndevice = i + 1;
	}
	if (server->cu) {
		hello.driver = server->cu->version;
		memcpy(hello.build, server->cu->build, sizeof(hello.build));
	}
	return send_answer(server, request, err, &hello, sizeof(hello));
}

static int open_device(struct kl_gpu_server *server, const void *request, int fd)
{
	const struct kl_gpu_open *open = request;
	struct kl_gpu_reply reply = { 0 };
	int err = 0, rc;

	if (!server->cu || server->device)
		err = kl_error(KL_EINVALID, "the device must be opened after HELLO and only once");
	if (err == 0)
		err = kl_gpu_device_open(&server->device, server->cu, open->ordinal);
	if (err == 0 && ((rc = server->cu->event_create(&server->before, 0)) ||
			 (rc = server->cu->event_create(&server->after, 0)) ||
			 (rc = server->cu->event_create(&server->others, KL_CU_EVENT_NO_TIMING))))
		err = kl_gpu_error(server->cu, rc, KL_ECANNOT, "cannot create events");
	return send_answer(server, request, err, &reply, sizeof(reply));
}

static int put_module(struct kl_gpu_server *server, const void *request, int fd)
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
	return send_answer(server, request, err, &reply, sizeof(reply));
}

/*
 * Return whether the host writes as many elements as the kernel reads, of a known type that is not
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

static int put_set(struct kl_gpu_server *server, const void *request, int fd)
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
	return send_answer(server, request, err, &reply, sizeof(reply));
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

static int put_bind(struct kl_gpu_server *server, const void *request, int fd)
{
	struct kl_gpu_called out = { .launch = -1, .arg = -1 };

	return send_answer(server, request, make_binding(server, request, fd, &out), &out,
			   sizeof(out));
}

static int serve_drop(struct kl_gpu_server *server, const void *request, int fd)
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
	return send_answer(server, request, err, &reply, sizeof(reply));
}

/* -- making a call -------------------------------------------------------------------- */

int kl_gpu_server_upload(struct kl_gpu_server *server, struct kl_gpu_server_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->set->n && err == 0; i++)
		if (set->set->layout[i].tensor && !set->set->layout[i].output)
			err = kl_gpu_set_upload(set->set, server->device, i,
						set->host + set->offset[i]);
	return err;
}

int kl_gpu_server_download(struct kl_gpu_server *server, struct kl_gpu_server_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->set->n && err == 0; i++)
		if (set->set->layout[i].tensor && set->set->layout[i].writable)
			err = kl_gpu_set_download(set->set, server->device, i,
						  set->host + set->offset[i]);
	return err;
}

/*
 * Do what comes before the launches and wait for it, so that a later error is the kernels' fault.
 */
static int before_call(struct kl_gpu_server *server, const struct kl_gpu_do_call *call,
		       struct kl_gpu_bound *bound, struct kl_gpu_server_set *set,
		       struct kl_gpu_module *module)
{
	int err = 0, rc;

	if (call->flags & KL_GPU_CALL_RELOAD)
		err = kl_gpu_module_reload(module, server->device);
	if (err == 0 && call->flags & KL_GPU_CALL_UPLOAD)
		err = kl_gpu_server_upload(server, set);
	if (err == 0 && call->flags & KL_GPU_CALL_POISON)
		err = kl_gpu_set_poison(set->set, server->device, call->seed);
	if (err < 0 ||
	    (err = kl_gpu_bound_ready(bound, server->device, call->seed,
				      call->flags & KL_GPU_CALL_POISON)) < 0 ||
	    (call->flags & KL_GPU_CALL_SCRUB && (err = kl_gpu_scrub(server->device)) < 0))
		return err;
	rc = server->cu->stream_sync(server->device->stream);
	return rc ? kl_gpu_error(server->cu, rc, KL_EIO, "the GPU failed before the call") : 0;
}

static int run_call(struct kl_gpu_server *server, const struct kl_gpu_do_call *call,
		    const struct kl_gpu_bound *bound, struct kl_gpu_called *out)
{
	int rc, which, ran;
	float ms = 0;

	server->cu->event_record(server->before, server->device->stream);
	rc = kl_gpu_bound_launch(bound, server->device, &which);
	server->cu->event_record(server->after, server->device->stream);
	ran = kl_gpu_wait(server->device, call->limit_ms);
	if (ran == KL_CU_NOT_READY) {
		out->end = KL_GPU_CALL_HANG;
		out->r.state = KL_GPU_STUCK;
		return 0;
	}
	if (!rc && !ran) {
		if (!server->cu->event_ms(&ms, server->before, server->after))
			out->event_ns = (int64_t)((double)ms * 1e6);
		return 0;
	}
	out->launch = which;
	if (rc && !ran && kl_gpu_is_refusal(rc)) {
		out->end = KL_GPU_CALL_REFUSED;
	} else {
		rc = ran ? ran : rc;
		out->end = KL_GPU_CALL_FAULT;
		if (!kl_gpu_is_fault(rc))
			return kl_gpu_error(server->cu, rc, KL_EIO,
					    "the GPU failed in a call of '%s'",
					    kl_gpu_bound_kernel(bound, which));
	}
	kl_gpu_driver_name(server->cu, rc, out->name);
	/* a refusal belongs to launch `which`, but a fault can be that of any launch */
	if (out->end == KL_GPU_CALL_FAULT && kl_gpu_bound_launches(bound) > 1)
		out->launch = -1;
	snprintf(out->kernel, sizeof(out->kernel), "%s", kl_gpu_bound_kernel(bound, out->launch));
	return 0;
}

static int after_call(struct kl_gpu_server *server, const struct kl_gpu_do_call *call,
		      const struct kl_gpu_bound *bound, struct kl_gpu_server_set *set,
		      struct kl_gpu_called *out)
{
	size_t arg = 0;
	int err = 0;

	if (call->flags & KL_GPU_CALL_CHECK) {
		err = kl_gpu_set_check(set->set, server->device, &arg, &out->where);
		if (err == KL_ENO) {
			out->end = KL_GPU_CALL_SLACK;
			out->arg = (int32_t)arg;
			return 0;
		}
		if (err == 0)
			err = kl_gpu_bound_check(bound, server->device);
		if (err == KL_ENO) {
			out->end = KL_GPU_CALL_SCRATCH;
			snprintf(out->r.message, sizeof(out->r.message), "%s", kl_error_last());
			kl_error_clear();
			return 0;
		}
	}
	if (err == 0 && call->flags & KL_GPU_CALL_DOWNLOAD)
		err = kl_gpu_server_download(server, set);
	return err;
}

static int serve_call(struct kl_gpu_server *server, const void *request, int fd)
{
	const struct kl_gpu_do_call *call = request;
	struct kl_gpu_called out = { .launch = -1, .arg = -1 };
	struct kl_gpu_server_set *set = NULL;
	struct kl_gpu_bound *bound = NULL;
	int err = kl_gpu_server_get_bound(&bound, server, call->head.slot);

	if (err == 0)
		err = kl_gpu_server_get_set(&set, server, server->bind[call->head.slot].set);
	if (err == 0)
		err = before_call(server, call, bound, set,
				  server->module[server->bind[call->head.slot].module]);
	if (err == 0 && call->flags & KL_GPU_CALL_RUN)
		err = run_call(server, call, bound, &out);
	if (err == 0 && out.end == KL_GPU_CALL_OK)
		err = after_call(server, call, bound, set, &out);
	if (err < 0) {
		out.r.err = err;
		snprintf(out.r.message, sizeof(out.r.message), "%s", kl_error_last());
		kl_error_clear();
	} else {
		out.quirk = kl_gpu_bound_quirk(bound);
	}
	return kl_gpu_server_reply(server, request, &out, sizeof(out));
}

/* Write a pattern, check it on the device, and compare its fingerprint with one from the host. */
static int probe_device(struct kl_gpu_server *server)
{
	enum { BYTES = 1 << 20 };
	struct kl_gpu_pattern pattern = { .seed = kl_rng_os_seed(), .keep = ~(uint64_t)0 };
	KL_AUTO(kl_freep) char *here = kl_malloc(BYTES);
	uint64_t there[2], own[2], where;
	struct kl_gpu_buffer buffer;
	int err = kl_gpu_buffer_make(&buffer, server->device, BYTES, 256, false);

	if (err < 0)
		return err;
	kl_gpu_pattern(here, &pattern, 0, BYTES);
	kl_gpu_fingerprint_host(own, here, BYTES, pattern.seed);
	if ((err = kl_gpu_fill(server->device, buffer.at, BYTES, 0, &pattern)) == 0 &&
	    (err = kl_gpu_check(server->device, buffer.at, BYTES, 0, &pattern, &where)) == 0)
		err = kl_gpu_fingerprint(server->device, there, buffer.at, BYTES, pattern.seed);
	if (err == KL_ENO || (err == 0 && memcmp(there, own, sizeof(own))))
		err = kl_error(KL_EIO, "%s does not keep what is written to it",
			       server->device->facts.name);
	kl_gpu_buffer_release(&buffer, server->device);
	return err;
}

static int serve_probe(struct kl_gpu_server *server, const void *request, int fd)
{
	struct kl_gpu_reply reply = { 0 };

	return send_answer(server, request, probe_device(server), &reply, sizeof(reply));
}

/* -- the main loop ---------------------------------------------------------------------- */

static const struct {
	size_t bytes;
	bool needs_device;
	int (*serve)(struct kl_gpu_server *s, const void *request, int fd);
} operations[] = {
	[KL_GPU_OP_HELLO] = { sizeof(struct kl_gpu_head), false, serve_hello },
	[KL_GPU_OP_OPEN] = { sizeof(struct kl_gpu_open), false, open_device },
	[KL_GPU_OP_MODULE] = { sizeof(struct kl_gpu_put_module), true, put_module },
	[KL_GPU_OP_SET] = { sizeof(struct kl_gpu_put_set), true, put_set },
	[KL_GPU_OP_BIND] = { sizeof(struct kl_gpu_put_bind), true, put_bind },
	[KL_GPU_OP_CALL] = { sizeof(struct kl_gpu_do_call), true, serve_call },
	[KL_GPU_OP_DROP] = { sizeof(struct kl_gpu_drop), true, serve_drop },
	[KL_GPU_OP_PROBE] = { sizeof(struct kl_gpu_head), true, serve_probe },
	[KL_GPU_OP_LAUNCHER] = { sizeof(struct kl_gpu_put_launcher), true, kl_gpu_server_launcher },
	[KL_GPU_OP_LAUNCH] = { sizeof(struct kl_gpu_do_launch), true, kl_gpu_server_launch },
};

static int serve_one(struct kl_gpu_server *server, const struct kl_gpu_head *head, size_t n, int fd)
{
	if (n < sizeof(*head) || head->magic != KL_GPU_WIRE_MAGIC || head->bytes != n)
		return kl_error(KL_EINVALID, "the request is malformed");
	if (head->op >= KL_GPU_OP_TIME && head->op < KL_GPU_OP_TIME_END && server->device)
		return kl_gpu_time_serve ? kl_gpu_time_serve(server, head, n, fd) : -1;
	if (head->op >= KL_ARRAY_SIZE(operations) || !operations[head->op].serve ||
	    operations[head->op].bytes != n ||
	    (operations[head->op].needs_device && !server->device))
		return kl_error(KL_EINVALID, "unexpected operation %u of %zu bytes", head->op, n);
	return operations[head->op].serve(server, head, fd);
}

static void set_limits(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int kl_gpu_server_main(void)
{
	static _Alignas(64) char room[KL_GPU_WIRE_MAX];
	struct kl_gpu_server *server = kl_calloc(1, sizeof(*server));
	size_t n = 0;
	int err, fd;

	set_limits();
	server->socket = KL_GPU_WIRE_FD;
	for (;;) {
		err = receive_request(server->socket, room, &n, &fd);
		if (err == 0)
			err = serve_one(server, (const struct kl_gpu_head *)room, n, fd);
		if (fd >= 0)
			close(fd);
		if (err)
			break;
	}
	/* skip the driver's exit handlers, which can wait for a kernel that hangs */
	_exit(err == ENDED ? 0 : 70);
}
