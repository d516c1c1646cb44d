/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/audit.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"

/* local memory of a thread: as many as a device runs need gigabytes of it */
#define MAX_FRAME (32 << 10)

/* -- sections and symbols ------------------------------------------------------------------ */

/* Beginnings of names. What else stands in a cubin is no compiler's. */
static const char *const sections[] = {
	".shstrtab",      ".strtab",      ".symtab",          ".debug_",       ".nv_debug",
	".note.nv.",      ".nv.info",     ".nv.compat",       ".nv.callgraph", ".nv.prototype",
	".nv.rel.action", ".nv.constant", ".nv.shared.",      ".nv.local.",    ".nv.global",
	".nv.merc",       ".nv.capmerc",  ".nv.resolvedrela", ".text.",        ".rela.",
	".rel.",
};

static int check_sections(const struct kl_cubin *c)
{
	for (size_t i = 1; i < c->nsec; i++) {
		bool known = !*c->sec[i].name;

		for (size_t k = 0; !known && k < KL_ARRAY_SIZE(sections); k++)
			known = !strncmp(c->sec[i].name, sections[k], strlen(sections[k]));
		if (!known)
			return kl_error(KL_ENO,
					"the code has a section '%s', which no compiler makes",
					c->sec[i].name);
	}
	return 0;
}

/* Functions of the system that device code can call, and what is wrong with it. */
/* clang-format off */
static const struct { const char *name, *why; } services[] = {
	{ "vprintf", "it prints, and what is printed goes into the output of who judges it" },
	{ "malloc", "device memory that outlives the call; the plan's scratch is for that" },
	{ "free", "device memory that outlives the call; the plan's scratch is for that" },
	{ "__assertfail", "an assert; the code is judged as with -DNDEBUG" },
	{ "__cuda_syscall", "a service of the driver" },
	{ "cudaLaunchDevice", "it launches kernels itself; the plan says what is launched" },
	{ "cudaGetParameterBuffer", "it launches kernels itself; the plan says what is launched" },
};
/* clang-format on */

static int check_undefined(const struct kl_cubin *c)
{
	for (size_t i = 0; i < c->nsym; i++) {
		const struct kl_cubin_symbol *s = &c->sym[i];

		if (s->sec || !*s->name || !strncmp(s->name, ".nv.reservedSmem", 16))
			continue;
		for (size_t k = 0; k < KL_ARRAY_SIZE(services); k++)
			if (!strncmp(s->name, services[k].name, strlen(services[k].name)))
				return kl_error(KL_ENO, "the code calls '%s': %s", s->name,
						services[k].why);
		return kl_error(KL_ENO, "the code needs '%s', which it does not define", s->name);
	}
	return 0;
}

/*
 * -- memory that outlives a call ----------------------------------------------------------------
 */

/* ".nv.global": without a first value; ".nv.global.init": with one */
static int check_variable(const struct kl_cubin_symbol *s, bool init, const struct kl_ptx *ptx)
{
	const struct kl_ptx_var *v = ptx ? kl_ptx_variable(ptx, s->name) : NULL;
	static const char hint[] = "what must live between launches is the plan's scratch";

	if (v && !v->reached)
		return 0;
	if (!v) /* hidden in a function, or there is nothing to tell who uses it */
		return kl_error(
			KL_ENO,
			"the code has a global variable '%s' that cannot be told from state kept "
			"between calls: %s",
			s->name, hint);
	if (v->managed)
		return kl_error(KL_ENO, "a launched kernel uses the managed variable '%s'",
				s->name);
	if (!init || v->stored)
		return kl_error(
			KL_ENO,
			"a launched kernel %s the global variable '%s', which keeps its value between "
			"calls: %s",
			v->stored ? "writes" : "uses", s->name, hint);
	return 0;
}

static int check_globals(const struct kl_cubin *c, const struct kl_ptx *ptx,
			 const struct kl_sass *sass)
{
	struct kl_map seen = KL_MAP_INIT;
	bool used = ptx; /* imported code that reads no address of a variable uses none */
	int err = 0;

	for (size_t i = 0; !ptx && sass && i < sass->n; i++)
		used |= sass->fn[i].module_data;
	for (size_t i = 0; used && !err && i < c->nsym; i++) {
		const struct kl_cubin_symbol *s = &c->sym[i];
		const char *sec = s->sec > 0 ? c->sec[s->sec].name : "";

		if (s->type != STT_OBJECT || strncmp(sec, ".nv.global", 10))
			continue;
		if (kl_map_get(&seen, s->name))
			err = kl_error(KL_ENO, "the code has two global variables '%s'", s->name);
		kl_map_put(&seen, s->name, &seen);
		err = err ? err : check_variable(s, strcmp(sec, ".nv.global"), ptx);
	}
	kl_map_release(&seen);
	return err;
}

/*
 * -- what tells one call from another ----------------------------------------------------------------
 */

struct special {
	const char *name;
	size_t n;
	const char *why;
};

static const struct special ptx_specials[] = {
	{ "%gridid", 7, "it numbers the launches" },
	{ "%clock", 6, "a clock" },
	{ "%globaltimer", 12, "a clock" },
	{ "%pm", 3, "a counter of the profiler" },
	{ "%current_graph_exec", 19, "it tells how it is launched" },
};
static const struct special sass_specials[] = {
	{ "SR_CLOCK", 8, "a clock" },
	{ "SR_GLOBALTIMER", 14, "a clock" },
	{ "SR_GRIDID", 9, "it numbers the launches" },
	{ "SR_PM", 5, "a counter of the profiler" },
};

static int refuse_special(const struct kl_strvec *v, const struct special *list, size_t n,
			  const char *where)
{
	for (size_t i = 0; i < v->n; i++)
		for (size_t k = 0; k < n; k++)
			if (!strncmp(v->v[i], list[k].name, list[k].n))
				return kl_error(
					KL_ENO,
					"'%s' reads %s: %s, and nothing a kernel computes depends on it",
					where, v->v[i], list[k].why);
	return 0;
}

static bool starts_with(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static int check_op(const struct kl_ptx_fn *f, const char *op)
{
	static const char *const handles[] = { "tex.",  "tld4.",  "txq.", "suld.",
					       "sust.", "sured.", "suq." };

	for (size_t i = 0; i < KL_ARRAY_SIZE(handles); i++)
		if (starts_with(op, handles[i]))
			return kl_error(
				KL_ENO,
				"'%s' uses a texture or surface (%s), which a launch plan cannot pass",
				f->name, op);
	if (starts_with(op, "pmevent"))
		return kl_error(KL_ENO, "'%s' triggers the profiler (%s)", f->name, op);
	return 0;
}

/* The driver's own memory for cooperative launches, %envreg1 and %envreg2, and only there. */
static int check_envreg(const struct kl_ptx_fn *f, const struct kl_cuda_wish *w)
{
	bool asks = false;

	for (size_t i = 0; i < f->special.n; i++)
		asks |= starts_with(f->special.v[i], "%envreg");
	for (size_t i = 0; asks && i < w->nlaunch; i++)
		if (w->launch[i].cooperative)
			return 0;
	return asks ? kl_error(
			      KL_ENO,
			      "'%s' reads %%envreg, which belongs to cooperative launches, and the plan "
			      "makes none",
			      f->name) :
		      0;
}

static int check_ptx(const struct kl_ptx *ptx, const struct kl_cuda_wish *w)
{
	int err = 0;

	for (size_t i = 0; !err && i < ptx->nfn; i++) {
		const struct kl_ptx_fn *f = &ptx->fn[i];

		if (!f->reached)
			continue;
		err = refuse_special(&f->special, ptx_specials, KL_ARRAY_SIZE(ptx_specials),
				     f->name);
		if (!err && f->hidden_state)
			err = kl_error(KL_ENO,
				       "'%s' declares a global variable of its own in assembly",
				       f->name);
		if (!err)
			err = check_envreg(f, w);
		for (size_t k = 0; !err && k < f->nop; k++)
			err = check_op(f, f->op[k].name);
	}
	for (size_t i = 0; !err && i < ptx->nvar; i++)
		if (ptx->var[i].reached && ptx->var[i].space == KL_PTX_HANDLE)
			err = kl_error(
				KL_ENO,
				"the code uses the texture or surface '%s', which a launch plan "
				"cannot pass",
				ptx->var[i].name);
	return err;
}

static int check_sass(const struct kl_sass *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->n; i++)
		err = refuse_special(&s->fn[i].special, sass_specials, KL_ARRAY_SIZE(sass_specials),
				     s->fn[i].name);
	return err;
}

/*
 * -- what the plan wants -------------------------------------------------------------------------------
 */

static int no_kernel(const struct kl_cubin *c, const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf have = KL_BUF_INIT;

	for (size_t i = 0; i < c->nkernel && i < 8; i++)
		kl_buf_addf(&have, "%s'%.100s'", i ? ", " : "", c->kernel[i].name);
	return kl_error(
		KL_ENO, "the plan launches '%s', which the code does not define: it has %s%s", name,
		c->nkernel ? have.ptr : "no kernel",
		c->nkernel ?
			" (a kernel in C++ has a long name: extern \"C\" gives it a plain one)" :
			"");
}

static int check_args(const struct kl_cubin_kernel *k, const struct kl_cuda_launch *l)
{
	if (l->narg != k->nparam)
		return kl_error(KL_ENO, "kernel '%s' takes %zu arguments, and the plan passes %zu",
				k->name, k->nparam, l->narg);
	for (size_t i = 0; i < l->narg; i++)
		if (l->size[i] != k->param[i].size)
			return kl_error(
				KL_ENO,
				"argument %zu of kernel '%s' has %lld bytes, and the plan passes %lld",
				i, k->name, (long long)k->param[i].size, (long long)l->size[i]);
	return 0;
}

static int check_launch(const struct kl_cubin *c, const struct kl_cuda_launch *l)
{
	const struct kl_cubin_kernel *k = kl_cubin_kernel(c, l->kernel);
	int64_t wanted;

	if (!k)
		return no_kernel(c, l->kernel);
	wanted = k->req_threads[0] * k->req_threads[1] * k->req_threads[2];
	if (wanted && wanted != l->threads)
		return kl_error(
			KL_ENO,
			"kernel '%s' is compiled for blocks of %lld threads, and the plan launches %lld",
			k->name, (long long)wanted, (long long)l->threads);
	if (k->max_threads && l->threads > k->max_threads)
		return kl_error(KL_ENO,
				"kernel '%s' is compiled for at most %lld threads a block "
				"(__launch_bounds__), and the plan launches %lld",
				k->name, (long long)k->max_threads, (long long)l->threads);
	if (k->frame > MAX_FRAME)
		return kl_error(
			KL_ENO,
			"kernel '%s' wants %lld bytes of local memory a thread: more than %d is "
			"refused",
			k->name, (long long)k->frame, MAX_FRAME);
	return check_args(k, l);
}

static int check_arch(const struct kl_cubin *c, const char *arch)
{
	int want = atoi(starts_with(arch, "sm_") ? arch + 3 : arch);

	if (c->sm != want)
		return kl_error(KL_ENO, "the code is for sm_%d%s, and the plan for %s", c->sm,
				c->specific ? "a" : "", arch);
	return 0;
}

int kl_audit_cuda_launch(const struct kl_cubin *c, const struct kl_cuda_wish *w)
{
	int err = check_arch(c, w->arch);

	for (size_t i = 0; !err && i < w->name.n; i++)
		if (!kl_cubin_kernel(c, w->name.v[i]))
			err = no_kernel(c, w->name.v[i]);
	for (size_t i = 0; !err && i < w->nlaunch; i++)
		err = check_launch(c, &w->launch[i]);
	return err;
}

int kl_audit_cuda(const struct kl_cubin *c, const struct kl_ptx *ptx, const struct kl_sass *sass,
		  const struct kl_cuda_wish *w)
{
	int err = check_sections(c);

	if (!err)
		err = check_undefined(c);
	if (!err)
		err = ptx ? check_ptx(ptx, w) : check_sass(sass);
	return err ? err : check_globals(c, ptx, sass);
}
