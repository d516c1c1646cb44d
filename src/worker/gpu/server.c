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
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/rng.h"
#include "worker/gpu/plan_text.h"
#include "worker/gpu/wall.h"

#define ENDED 1 /* of a handler: nothing more will come */
#define SETTLE_MS 1000

/* -- messages ------------------------------------------------------------------- */

/* What is still under way are the gate's own small kernels, unless one of the candidate's hangs. */
static int state_of(const struct kl_gpu_serve *s)
{
	int rc = s->device ? kl_gpu_wait(s->device, SETTLE_MS) : 0;

	return !rc ? KL_GPU_WELL : rc == KL_CU_NOT_READY ? KL_GPU_STUCK : KL_GPU_LOST;
}

int kl_gpu_serve_reply(struct kl_gpu_serve *s, const struct kl_gpu_head *request, void *reply,
		       size_t n)
{
	struct kl_gpu_reply *r = reply;

	r->head = *request;
	r->head.bytes = (uint32_t)n;
	if (r->state == KL_GPU_WELL)
		r->state = state_of(s);
	if (send(s->socket, reply, n, MSG_NOSIGNAL) != (ssize_t)n)
		return kl_error_errno("cannot answer");
	return 0;
}

/* A reply of `n` bytes with the error that a handler met, or none. */
static int send_answer(struct kl_gpu_serve *s, const struct kl_gpu_head *request, int err,
		       void *reply, size_t n)
{
	struct kl_gpu_reply *r = reply;

	r->err = err;
	if (err < 0)
		snprintf(r->message, sizeof(r->message), "%s", kl_error_last());
	kl_error_clear();
	return kl_gpu_serve_reply(s, request, reply, n);
}

/* One message into `room`, and the descriptor that came with it, or -1. */
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
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		got = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(all, CMSG_DATA(c), (size_t)got * sizeof(int));
	}
	for (int i = 1; i < got; i++)
		close(all[i]);
	if (got)
		*fd = all[0];
	if (got > 1 || msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return kl_error(KL_EINVALID, "a message that is too large");
	*n = (size_t)have;
	return 0;
}

int kl_gpu_serve_map(void **out, int fd, uint64_t bytes, bool writable)
{
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < 0 || (uint64_t)st.st_size < bytes ||
	    !bytes)
		return kl_error(KL_EINVALID, "no memory of %llu bytes came with the message",
				(unsigned long long)bytes);
	p = mmap(NULL, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return kl_error_errno("cannot map shared memory");
	*out = p;
	return 0;
}

/* -- slots ------------------------------------------------------------------------ */

int kl_gpu_serve_get_bound(struct kl_gpu_bound **out, struct kl_gpu_serve *s, uint32_t slot)
{
	if (slot >= KL_GPU_MAX_BINDS || !s->bind[slot].bound)
		return kl_error(KL_EINVALID, "no binding %u", slot);
	*out = s->bind[slot].bound;
	return 0;
}

int kl_gpu_serve_get_set(struct kl_gpu_serve_set **out, struct kl_gpu_serve *s, uint32_t slot)
{
	if (slot >= KL_GPU_MAX_SETS || !s->set[slot].set)
		return kl_error(KL_EINVALID, "no set of tensors %u", slot);
	*out = &s->set[slot];
	return 0;
}

static void drop_bind(struct kl_gpu_serve *s, uint32_t slot)
{
	kl_gpu_bound_free(s->bind[slot].bound, s->device);
	s->bind[slot].bound = NULL;
}

/* What is bound to it goes first. */
static void drop_set(struct kl_gpu_serve *s, uint32_t slot)
{
	struct kl_gpu_serve_set *set = &s->set[slot];

	for (uint32_t i = 0; i < KL_GPU_MAX_BINDS; i++)
		if (s->bind[i].bound && s->bind[i].set == slot)
			drop_bind(s, i);
	kl_gpu_set_free(set->set, s->device);
	if (set->host)
		munmap(set->host, set->host_bytes);
	memset(set, 0, sizeof(*set));
}

static void drop_module(struct kl_gpu_serve *s, uint32_t slot)
{
	for (uint32_t i = 0; i < KL_GPU_MAX_BINDS; i++)
		if (s->bind[i].bound && s->bind[i].module == slot)
			drop_bind(s, i);
	kl_gpu_module_free(s->module[slot], s->device);
	s->module[slot] = NULL;
}

/* -- operations ----------------------------------------------------------------------- */

static int serve_hello(struct kl_gpu_serve *s, const void *request, int fd)
{
	const struct kl_gpu_head *q = request;
	struct kl_gpu_hello r = { 0 };
	int err = 0, n = 0, rc;

	if (q->slot == KL_GPU_FOR_HOST && s->closed != KL_GPU_CLOSED_WALL && !s->cu)
		err = kl_gpu_wall(&s->closed);
	if (!err && !s->cu)
		err = kl_gpu_driver_open(&s->cu);
	if (err == 0 && (rc = s->cu->init(0)))
		err = kl_gpu_error(s->cu, rc, KL_ECANNOT,
				   "no GPU here: CUDA (driver %s, CUDA %d.%d) cannot "
				   "start",
				   *s->cu->build ? s->cu->build : "of unknown version",
				   s->cu->version / 1000, s->cu->version % 1000 / 10);
	if (err == 0 && ((rc = s->cu->device_count(&n)) || n < 1))
		err = kl_error(KL_ECANNOT, "no GPU here: the CUDA driver sees none");
	for (int i = 0; i < n && i < KL_GPU_MAX_DEVICES && err == 0; i++) {
		err = kl_gpu_facts_read(&r.device[i], s->cu, i);
		r.ndevice = i + 1;
	}
	if (s->cu) {
		r.driver = s->cu->version;
		memcpy(r.build, s->cu->build, sizeof(r.build));
	}
	return send_answer(s, request, err, &r, sizeof(r));
}

static int open_device(struct kl_gpu_serve *s, const void *request, int fd)
{
	const struct kl_gpu_open *q = request;
	struct kl_gpu_reply r = { 0 };
	int err = 0, rc;

	if (!s->cu || s->device)
		err = kl_error(KL_EINVALID, "a device is opened once, after hello");
	if (err == 0)
		err = kl_gpu_device_open(&s->device, s->cu, q->ordinal);
	if (err == 0 &&
	    ((rc = s->cu->event_create(&s->before, 0)) || (rc = s->cu->event_create(&s->after, 0))))
		err = kl_gpu_error(s->cu, rc, KL_ECANNOT, "no events");
	return send_answer(s, request, err, &r, sizeof(r));
}

static int put_module(struct kl_gpu_serve *s, const void *request, int fd)
{
	const struct kl_gpu_put_module *q = request;
	struct kl_gpu_reply r = { 0 };
	void *image = NULL;
	int err = 0;

	if (q->head.slot >= KL_GPU_MAX_MODULES || q->bytes > KL_GPU_MAX_CUBIN)
		err = kl_error(KL_EINVALID, "a cubin too many, or too large");
	if (err == 0)
		err = kl_gpu_serve_map(&image, fd, q->bytes, false);
	if (err == 0) {
		drop_module(s, q->head.slot);
		err = kl_gpu_module_load(&s->module[q->head.slot], s->device, image, q->bytes);
		munmap(image, q->bytes);
	}
	return send_answer(s, request, err, &r, sizeof(r));
}

static int check_layout(const struct kl_gpu_put_set *q)
{
	if (q->head.slot >= KL_GPU_MAX_SETS || q->n > KL_GPU_MAX_TENSORS ||
	    q->host_bytes > (uint64_t)1 << 46)
		return kl_error(KL_EINVALID, "a set of tensors too many, or too large");
	for (uint32_t i = 0; i < q->n; i++) {
		uint64_t n = q->layout[i].bytes;

		if (q->layout[i].tensor && (q->offset[i] % 8 || q->offset[i] > q->host_bytes ||
					    n > q->host_bytes - q->offset[i]))
			return kl_error(KL_EINVALID, "tensor %u lies outside of the shared memory",
					i);
	}
	return 0;
}

static int put_set(struct kl_gpu_serve *s, const void *request, int fd)
{
	const struct kl_gpu_put_set *q = request;
	struct kl_gpu_reply r = { 0 };
	struct kl_gpu_serve_set *set;
	void *host = NULL;
	int err = check_layout(q);

	if (err == 0)
		err = kl_gpu_serve_map(&host, fd, q->host_bytes, true);
	if (err == 0) {
		set = &s->set[q->head.slot];
		drop_set(s, q->head.slot);
		set->host = host;
		set->host_bytes = q->host_bytes;
		memcpy(set->offset, q->offset, sizeof(set->offset));
		err = kl_gpu_set_make(&set->set, s->device, q->layout, q->n, q->right);
		if (err < 0)
			drop_set(s, q->head.slot);
	}
	return send_answer(s, request, err, &r, sizeof(r));
}

static int make_binding(struct kl_gpu_serve *s, const struct kl_gpu_put_bind *q, int fd)
{
	/* bytes of struct arguments live in it */
	KL_AUTO(kl_plan_freep) struct kl_plan *plan = NULL;
	struct kl_gpu_serve_set *set = NULL;
	struct kl_gpu_bound *bound = NULL;
	void *text = NULL;
	struct kl_plan_at *at = NULL;
	int err;

	if (q->head.slot >= KL_GPU_MAX_BINDS || q->module >= KL_GPU_MAX_MODULES ||
	    !s->module[q->module] || q->bytes > KL_GPU_MAX_PLAN)
		return kl_error(KL_EINVALID, "a binding too many, too large, or of no module");
	if ((err = kl_gpu_serve_get_set(&set, s, q->set)) < 0 ||
	    (err = kl_gpu_serve_map(&text, fd, q->bytes, false)) < 0)
		return err;
	drop_bind(s, q->head.slot);
	err = kl_gpu_doc_resolve(&at, &plan, text, q->bytes, set->set, &s->device->facts);
	munmap(text, q->bytes);
	if (err < 0 || (err = kl_gpu_bound_make(&bound, s->device, s->module[q->module], set->set,
						at, kl_plan_quirks(plan))) < 0)
		return err;
	s->bind[q->head.slot].bound = bound;
	s->bind[q->head.slot].module = q->module;
	s->bind[q->head.slot].set = q->set;
	return kl_gpu_bound_prepare(bound, s->device, q->seed, q->limit_ms);
}

static int put_bind(struct kl_gpu_serve *s, const void *request, int fd)
{
	struct kl_gpu_reply r = { 0 };

	return send_answer(s, request, make_binding(s, request, fd), &r, sizeof(r));
}

static int serve_drop(struct kl_gpu_serve *s, const void *request, int fd)
{
	const struct kl_gpu_drop *q = request;
	struct kl_gpu_reply r = { 0 };
	int err = 0;

	if (q->op == KL_GPU_OP_MODULE && q->head.slot < KL_GPU_MAX_MODULES)
		drop_module(s, q->head.slot);
	else if (q->op == KL_GPU_OP_SET && q->head.slot < KL_GPU_MAX_SETS)
		drop_set(s, q->head.slot);
	else if (q->op == KL_GPU_OP_BIND && q->head.slot < KL_GPU_MAX_BINDS)
		drop_bind(s, q->head.slot);
	else
		err = kl_error(KL_EINVALID, "nothing of that kind to drop");
	return send_answer(s, request, err, &r, sizeof(r));
}

/* -- a call --------------------------------------------------------------------------- */

int kl_gpu_serve_upload(struct kl_gpu_serve *s, struct kl_gpu_serve_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->set->n && err == 0; i++)
		if (set->set->layout[i].tensor && !set->set->layout[i].output)
			err = kl_gpu_set_upload(set->set, s->device, i, set->host + set->offset[i]);
	return err;
}

int kl_gpu_serve_download(struct kl_gpu_serve *s, struct kl_gpu_serve_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->set->n && err == 0; i++)
		if (set->set->layout[i].tensor && set->set->layout[i].writable)
			err = kl_gpu_set_download(set->set, s->device, i,
						  set->host + set->offset[i]);
	return err;
}

/* Everything before the launches; waits, so that an error after is of the kernels. */
static int before_call(struct kl_gpu_serve *s, const struct kl_gpu_do_call *q,
		       struct kl_gpu_bound *b, struct kl_gpu_serve_set *set,
		       struct kl_gpu_module *m)
{
	int err = 0, rc;

	if (q->flags & KL_GPU_CALL_RELOAD)
		err = kl_gpu_module_reload(m, s->device);
	if (err == 0 && q->flags & KL_GPU_CALL_UPLOAD)
		err = kl_gpu_serve_upload(s, set);
	if (err < 0 || (err = kl_gpu_set_poison(set->set, s->device, q->seed)) < 0 ||
	    (err = kl_gpu_bound_ready(b, s->device, q->seed)) < 0 ||
	    (q->flags & KL_GPU_CALL_SCRUB && (err = kl_gpu_scrub(s->device)) < 0))
		return err;
	rc = s->cu->stream_sync(s->device->stream);
	return rc ? kl_gpu_error(s->cu, rc, KL_EIO, "the GPU fails before the call") : 0;
}

static int run_call(struct kl_gpu_serve *s, const struct kl_gpu_do_call *q,
		    const struct kl_gpu_bound *b, struct kl_gpu_called *out)
{
	int rc, which, ran;
	float ms = 0;

	s->cu->event_record(s->before, s->device->stream);
	rc = kl_gpu_bound_launch(b, s->device, &which);
	s->cu->event_record(s->after, s->device->stream);
	ran = kl_gpu_wait(s->device, q->limit_ms);
	if (ran == KL_CU_NOT_READY) {
		out->end = KL_GPU_CALL_HANG;
		out->r.state = KL_GPU_STUCK;
		return 0;
	}
	if (!rc && !ran) {
		if (!s->cu->event_ms(&ms, s->before, s->after))
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
			return kl_gpu_error(s->cu, rc, KL_EIO, "the GPU fails in a call of '%s'",
					    kl_gpu_bound_kernel(b, which));
	}
	kl_gpu_driver_name(s->cu, rc, out->name);
	/* with one launch it is known which; with several only of one that was refused */
	if (out->end == KL_GPU_CALL_FAULT && kl_gpu_bound_launches(b) > 1)
		out->launch = -1;
	snprintf(out->kernel, sizeof(out->kernel), "%s", kl_gpu_bound_kernel(b, out->launch));
	return 0;
}

static int after_call(struct kl_gpu_serve *s, const struct kl_gpu_do_call *q,
		      const struct kl_gpu_bound *b, struct kl_gpu_serve_set *set,
		      struct kl_gpu_called *out)
{
	size_t arg = 0;
	int err = 0;

	if (q->flags & KL_GPU_CALL_CHECK) {
		err = kl_gpu_set_check(set->set, s->device, &arg, &out->where);
		if (err == KL_ENO) {
			out->end = KL_GPU_CALL_SLACK;
			out->arg = (int32_t)arg;
			return 0;
		}
		if (err == 0)
			err = kl_gpu_bound_check(b, s->device);
		if (err == KL_ENO) {
			out->end = KL_GPU_CALL_SCRATCH;
			snprintf(out->r.message, sizeof(out->r.message), "%s", kl_error_last());
			kl_error_clear();
			return 0;
		}
	}
	if (err == 0 && q->flags & KL_GPU_CALL_DOWNLOAD)
		err = kl_gpu_serve_download(s, set);
	return err;
}

static int serve_call(struct kl_gpu_serve *s, const void *request, int fd)
{
	const struct kl_gpu_do_call *q = request;
	struct kl_gpu_called out = { .launch = -1, .arg = -1 };
	struct kl_gpu_serve_set *set = NULL;
	struct kl_gpu_bound *b = NULL;
	int err = kl_gpu_serve_get_bound(&b, s, q->head.slot);

	if (err == 0)
		err = kl_gpu_serve_get_set(&set, s, s->bind[q->head.slot].set);
	if (err == 0)
		err = before_call(s, q, b, set, s->module[s->bind[q->head.slot].module]);
	if (err == 0)
		err = run_call(s, q, b, &out);
	if (err == 0 && out.end == KL_GPU_CALL_OK)
		err = after_call(s, q, b, set, &out);
	if (err < 0) {
		out.r.err = err;
		snprintf(out.r.message, sizeof(out.r.message), "%s", kl_error_last());
		kl_error_clear();
	} else {
		out.quirk = kl_gpu_bound_quirk(b);
	}
	return kl_gpu_serve_reply(s, request, &out, sizeof(out));
}

/* Written, looked at there, read back and looked at here. */
static int probe_device(struct kl_gpu_serve *s)
{
	enum { BYTES = 1 << 20 };
	struct kl_gpu_pattern p = { .seed = kl_rng_os_seed(), .keep = ~(uint64_t)0 };
	KL_AUTO(kl_freep) char *here = kl_malloc(BYTES);
	uint64_t there[2], own[2], where;
	struct kl_gpu_buffer b;
	int err = kl_gpu_buffer_make(&b, s->device, BYTES, 256, false);

	if (err < 0)
		return err;
	kl_gpu_pattern(here, &p, 0, BYTES);
	kl_gpu_fingerprint_host(own, here, BYTES, p.seed);
	if ((err = kl_gpu_fill(s->device, b.at, BYTES, 0, &p)) == 0 &&
	    (err = kl_gpu_check(s->device, b.at, BYTES, 0, &p, &where)) == 0)
		err = kl_gpu_fingerprint(s->device, there, b.at, BYTES, p.seed);
	if (err == KL_ENO || (err == 0 && memcmp(there, own, sizeof(own))))
		err = kl_error(KL_EIO, "%s does not keep what is written to it",
			       s->device->facts.name);
	kl_gpu_buffer_release(&b, s->device);
	return err;
}

static int serve_probe(struct kl_gpu_serve *s, const void *request, int fd)
{
	struct kl_gpu_reply r = { 0 };

	return send_answer(s, request, probe_device(s), &r, sizeof(r));
}

/* -- the process ------------------------------------------------------------------------ */

static const struct {
	size_t bytes;
	bool needs_device;
	int (*serve)(struct kl_gpu_serve *s, const void *request, int fd);
} operations[] = {
	[KL_GPU_OP_HELLO] = { sizeof(struct kl_gpu_head), false, serve_hello },
	[KL_GPU_OP_OPEN] = { sizeof(struct kl_gpu_open), false, open_device },
	[KL_GPU_OP_MODULE] = { sizeof(struct kl_gpu_put_module), true, put_module },
	[KL_GPU_OP_SET] = { sizeof(struct kl_gpu_put_set), true, put_set },
	[KL_GPU_OP_BIND] = { sizeof(struct kl_gpu_put_bind), true, put_bind },
	[KL_GPU_OP_CALL] = { sizeof(struct kl_gpu_do_call), true, serve_call },
	[KL_GPU_OP_DROP] = { sizeof(struct kl_gpu_drop), true, serve_drop },
	[KL_GPU_OP_PROBE] = { sizeof(struct kl_gpu_head), true, serve_probe },
	[KL_GPU_OP_LAUNCHER] = { sizeof(struct kl_gpu_put_launcher), true, kl_gpu_serve_launcher },
	[KL_GPU_OP_LAUNCH] = { sizeof(struct kl_gpu_do_launch), true, kl_gpu_serve_launch },
};

static int serve_one(struct kl_gpu_serve *s, const struct kl_gpu_head *h, size_t n, int fd)
{
	if (n < sizeof(*h) || h->magic != KL_GPU_WIRE_MAGIC || h->bytes != n)
		return kl_error(KL_EINVALID, "a broken message");
	if (h->op >= KL_GPU_OP_TIME && h->op < KL_GPU_OP_TIME_END && s->device)
		return kl_gpu_time_serve ? kl_gpu_time_serve(s, h, n, fd) : -1;
	if (h->op >= KL_ARRAY_SIZE(operations) || !operations[h->op].serve ||
	    operations[h->op].bytes != n || (operations[h->op].needs_device && !s->device))
		return kl_error(KL_EINVALID, "operation %u of %zu bytes", h->op, n);
	return operations[h->op].serve(s, h, fd);
}

static void set_limits(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int kl_gpu_serve_main(void)
{
	static _Alignas(64) char room[KL_GPU_WIRE_MAX];
	struct kl_gpu_serve *s = kl_calloc(1, sizeof(*s));
	size_t n = 0;
	int err, fd;

	set_limits();
	s->socket = KL_GPU_WIRE_FD;
	for (;;) {
		err = receive_request(s->socket, room, &n, &fd);
		if (err == 0)
			err = serve_one(s, (const struct kl_gpu_head *)room, n, fd);
		if (fd >= 0)
			close(fd);
		if (err)
			break;
	}
	/* the system takes back what the driver holds; its own way out may wait for a kernel */
	_exit(err == ENDED ? 0 : 70);
}
