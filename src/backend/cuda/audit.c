/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/audit.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/ptx_clock.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "base/prefix.h"

/* limit of local memory per thread, in bytes; for all threads of a device, this is gigabytes */
#define MAX_FRAME (32 << 10)

/* -- checking sections and undefined symbols ----------------------------------------------- */

/* Prefixes of the names of the sections that compilers put into a cubin. */
static const char *const sections[] = {
	".shstrtab",      ".strtab",      ".symtab",          ".debug_",       ".nv_debug",
	".note.nv.",      ".nv.info",     ".nv.compat",       ".nv.callgraph", ".nv.prototype",
	".nv.rel.action", ".nv.constant", ".nv.shared.",      ".nv.local.",    ".nv.global",
	".nv.merc",       ".nv.capmerc",  ".nv.resolvedrela", ".text.",        ".rela.",
	".rel.",
};

static int check_sections(const struct kl_cubin *cubin)
{
	for (size_t i = 1; i < cubin->nsec; i++) {
		bool known = !*cubin->sec[i].name;

		for (size_t k = 0; !known && k < KL_ARRAY_SIZE(sections); k++)
			known = kl_prefix_has(cubin->sec[i].name, sections[k]);
		if (!known)
			return kl_error(KL_ENO,
					"the code has a section '%s', which no compiler creates",
					cubin->sec[i].name);
	}
	return 0;
}

/* System functions that the device offers, and why a kernel must not call them. */
/* clang-format off */
static const struct { const char *name, *why; } services[] = {
	{ "vprintf", "it prints into the output of the program that judges the kernel" },
	{ "malloc", "it allocates memory that outlives the call; use the plan's scratch" },
	{ "free", "it frees memory that outlives the call; use the plan's scratch" },
	{ "__assertfail", "it is an assertion, but kernels are judged with -DNDEBUG" },
	{ "__cuda_syscall", "it calls a service of the driver" },
	{ "cudaLaunchDevice", "it launches kernels; only the plan may launch kernels" },
	{ "cudaGetParameterBuffer", "it launches kernels; only the plan may launch kernels" },
};
/* clang-format on */

static int check_undefined(const struct kl_cubin *cubin)
{
	for (size_t i = 0; i < cubin->nsym; i++) {
		const struct kl_cubin_symbol *symbol = &cubin->sym[i];

		if (symbol->sec || !*symbol->name || !strncmp(symbol->name, ".nv.reservedSmem", 16))
			continue;
		for (size_t k = 0; k < KL_ARRAY_SIZE(services); k++)
			if (kl_prefix_has(symbol->name, services[k].name))
				return kl_error(KL_ENO, "the code calls '%s': %s", symbol->name,
						services[k].why);
		return kl_error(KL_ENO, "the code uses '%s' without defining it", symbol->name);
	}
	return 0;
}

/*
 * -- checking for memory that outlives a call ---------------------------------------------------
 */

/*
 * Check a global variable. `init` is true if it has an initial value (section ".nv.global.init").
 */
static int check_variable(const struct kl_cubin_symbol *symbol, bool init, const struct kl_ptx *ptx)
{
	const struct kl_ptx_var *var = ptx ? kl_ptx_variable(ptx, symbol->name) : NULL;
	static const char hint[] = "keep data between launches in the plan's scratch";

	if (var && !var->reached)
		return 0;
	/*
	 * the PTX does not list the variable, because it is local to a function; or there is no
	 * PTX, so that nothing shows which kernels use the variable
	 */
	if (!var)
		return kl_error(KL_ENO,
				"the code has a global variable '%s', which could keep state "
				"between calls: %s",
				symbol->name, hint);
	if (var->managed)
		return kl_error(KL_ENO, "a launched kernel uses the managed variable '%s'",
				symbol->name);
	if (!init || var->stored)
		return kl_error(
			KL_ENO,
			"a launched kernel %s the global variable '%s', which keeps its value between "
			"calls: %s",
			var->stored ? "writes" : "uses", symbol->name, hint);
	return 0;
}

static int check_globals(const struct kl_cubin *cubin, const struct kl_ptx *ptx,
			 const struct kl_sass *sass)
{
	struct kl_map seen = KL_MAP_INIT;
	/*
	 * without PTX, global variables count as unused if no function of the cubin reads the
	 * address of one
	 */
	bool used = ptx;
	int err = 0;

	for (size_t i = 0; !ptx && sass && i < sass->n; i++)
		used |= sass->fn[i].module_data;
	for (size_t i = 0; used && !err && i < cubin->nsym; i++) {
		const struct kl_cubin_symbol *symbol = &cubin->sym[i];
		const char *sec = symbol->sec > 0 ? cubin->sec[symbol->sec].name : "";

		if (symbol->type != STT_OBJECT || strncmp(sec, ".nv.global", 10))
			continue;
		if (kl_map_get(&seen, symbol->name))
			err = kl_error(KL_ENO, "the code has two global variables '%s'",
				       symbol->name);
		kl_map_put(&seen, symbol->name, &seen);
		err = err ? err : check_variable(symbol, strcmp(sec, ".nv.global"), ptx);
	}
	kl_map_release(&seen);
	return err;
}

/*
 * -- checking for registers that distinguish calls ----------------------------------------------
 */

struct special {
	const char *name;
	size_t n;
	const char *why;
};

#define NO_USE ", on which no result of a kernel may depend"
#define CLOCK_OF_IMPORT \
	"a clock may only bound a wait, and the audit cannot follow a clock in imported code"

static const struct special ptx_specials[] = {
	{ "%gridid", 7, "it is the number of the launch" NO_USE },
	{ "%pm", 3, "it is a counter of the profiler" NO_USE },
	{ "%current_graph_exec", 19, "it shows how the kernel is launched" NO_USE },
};
static const struct special sass_specials[] = {
	{ "SR_CLOCK", 8, CLOCK_OF_IMPORT },
	{ "SR_GLOBALTIMER", 14, CLOCK_OF_IMPORT },
	{ "SR_GRIDID", 9, "it is the number of the launch" NO_USE },
	{ "SR_PM", 5, "it is a counter of the profiler" NO_USE },
};

static int refuse_special(const struct kl_strvec *names, const struct special *list, size_t n,
			  const char *where)
{
	for (size_t i = 0; i < names->n; i++)
		for (size_t k = 0; k < n; k++)
			if (!strncmp(names->v[i], list[k].name, list[k].n))
				return kl_error(KL_ENO, "'%s' reads %s: %s", where, names->v[i],
						list[k].why);
	return 0;
}

static int check_op(const struct kl_ptx_fn *fn, const char *op)
{
	static const char *const handles[] = { "tex.",  "tld4.",  "txq.", "suld.",
					       "sust.", "sured.", "suq." };

	for (size_t i = 0; i < KL_ARRAY_SIZE(handles); i++)
		if (kl_prefix_has(op, handles[i]))
			return kl_error(
				KL_ENO,
				"'%s' uses a texture or surface (%s), which a launch plan cannot pass",
				fn->name, op);
	if (kl_prefix_has(op, "pmevent"))
		return kl_error(KL_ENO, "'%s' triggers an event of the profiler (%s)", fn->name,
				op);
	return 0;
}

/*
 * Refuse %envreg, unless the plan has a cooperative launch, whose code finds memory of the driver
 * through %envreg1 and %envreg2.
 */
static int check_envreg(const struct kl_ptx_fn *fn, const struct kl_cuda_wish *wish)
{
	bool asks = false;

	for (size_t i = 0; i < fn->special.n; i++)
		asks |= kl_prefix_has(fn->special.v[i], "%envreg");
	for (size_t i = 0; asks && i < wish->nlaunch; i++)
		if (wish->launch[i].cooperative)
			return 0;
	return asks ? kl_error(
			      KL_ENO,
			      "'%s' reads %%envreg, which only cooperative launches may, but the plan "
			      "has none",
			      fn->name) :
		      0;
}

static int check_ptx(const struct kl_ptx *ptx, const struct kl_cuda_wish *wish)
{
	int err = 0;

	for (size_t i = 0; !err && i < ptx->nfn; i++) {
		const struct kl_ptx_fn *fn = &ptx->fn[i];

		if (!fn->reached)
			continue;
		err = refuse_special(&fn->special, ptx_specials, KL_ARRAY_SIZE(ptx_specials),
				     fn->name);
		if (!err)
			err = kl_ptx_clock(fn);
		if (!err && fn->hidden_state)
			err = kl_error(KL_ENO, "'%s' declares a global variable in inline assembly",
				       fn->name);
		if (!err)
			err = check_envreg(fn, wish);
		for (size_t k = 0; !err && k < fn->nop; k++)
			err = check_op(fn, fn->op[k].name);
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

static int check_sass(const struct kl_sass *sass)
{
	int err = 0;

	for (size_t i = 0; !err && i < sass->n; i++)
		err = refuse_special(&sass->fn[i].special, sass_specials,
				     KL_ARRAY_SIZE(sass_specials), sass->fn[i].name);
	return err;
}

/*
 * -- comparing the code with the launch plan ----------------------------------------------------
 */

static int no_kernel(const struct kl_cubin *cubin, const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf have = KL_BUF_INIT;

	for (size_t i = 0; i < cubin->nkernel && i < 8; i++)
		kl_buf_addf(&have, "%s'%.100s'", i ? ", " : "", cubin->kernel[i].name);
	return kl_error(KL_ENO,
			"the plan launches '%s', which the code does not define: the code has %s",
			name, cubin->nkernel ? have.ptr : "no kernel");
}

static int check_args(const struct kl_cubin_kernel *kernel, const struct kl_cuda_launch *launch)
{
	if (launch->narg != kernel->nparam)
		return kl_error(KL_ENO, "kernel '%s' takes %zu arguments, and the plan passes %zu",
				kernel->name, kernel->nparam, launch->narg);
	for (size_t i = 0; i < launch->narg; i++)
		if (launch->size[i] != kernel->param[i].size)
			return kl_error(
				KL_ENO,
				"argument %zu of kernel '%s' has %lld bytes, and the plan passes %lld",
				i, kernel->name, (long long)kernel->param[i].size,
				(long long)launch->size[i]);
	return 0;
}

/*
 * Check the clusters of a launch against the size that the kernel is compiled for
 * (__cluster_dims__) and the largest size that the kernel allows (__launch_bounds__).
 */
static int check_cluster(const struct kl_cubin_kernel *kernel, const struct kl_cuda_launch *launch)
{
	const int64_t *want = kernel->cluster;

	if (kernel->max_cluster && launch->cluster > kernel->max_cluster)
		return kl_error(KL_ENO,
				"kernel '%s' is compiled for clusters of at most %lld blocks "
				"(__launch_bounds__), but the plan launches clusters of %lld",
				kernel->name, (long long)kernel->max_cluster,
				(long long)launch->cluster);
	for (int i = 0; i < 3 && want[0]; i++) {
		if (launch->cluster && launch->extent[i] != want[i])
			return kl_error(
				KL_ENO,
				"kernel '%s' is compiled for clusters of (%lld, %lld, %lld) blocks "
				"(__cluster_dims__), but the plan launches clusters of (%u, %u, %u)",
				kernel->name, (long long)want[0], (long long)want[1],
				(long long)want[2], launch->extent[0], launch->extent[1],
				launch->extent[2]);
		if (launch->grid[i] % want[i])
			return kl_error(
				KL_ENO,
				"kernel '%s' is compiled for clusters of (%lld, %lld, %lld) blocks "
				"(__cluster_dims__), but the plan launches a grid of (%u, %u, %u), "
				"which is not a multiple of that",
				kernel->name, (long long)want[0], (long long)want[1],
				(long long)want[2], launch->grid[0], launch->grid[1],
				launch->grid[2]);
	}
	return 0;
}

static int check_launch(const struct kl_cubin *cubin, const struct kl_cuda_launch *launch)
{
	const struct kl_cubin_kernel *kernel = kl_cubin_kernel(cubin, launch->kernel);
	int64_t wanted;
	int err;

	if (!kernel)
		return no_kernel(cubin, launch->kernel);
	wanted = kernel->req_threads[0] * kernel->req_threads[1] * kernel->req_threads[2];
	if (wanted && wanted != launch->threads)
		return kl_error(
			KL_ENO,
			"kernel '%s' is compiled for blocks of %lld threads, but the plan launches %lld",
			kernel->name, (long long)wanted, (long long)launch->threads);
	if (kernel->max_threads && launch->threads > kernel->max_threads)
		return kl_error(KL_ENO,
				"kernel '%s' is compiled for at most %lld threads per block "
				"(__launch_bounds__), but the plan launches %lld",
				kernel->name, (long long)kernel->max_threads,
				(long long)launch->threads);
	if (kernel->frame > MAX_FRAME)
		return kl_error(
			KL_ENO,
			"kernel '%s' needs %lld bytes of local memory per thread; the limit is "
			"%d",
			kernel->name, (long long)kernel->frame, MAX_FRAME);
	err = check_cluster(kernel, launch);
	return err ? err : check_args(kernel, launch);
}

static int check_arch(const struct kl_cubin *cubin, const char *arch)
{
	int want = atoi(kl_prefix_has(arch, "sm_") ? arch + 3 : arch);

	if (cubin->sm != want)
		return kl_error(KL_ENO, "the code is for sm_%d%s, but the plan is for %s",
				cubin->sm, cubin->specific ? "a" : "", arch);
	return 0;
}

int kl_audit_cuda_launch(const struct kl_cubin *cubin, const struct kl_cuda_wish *wish)
{
	int err = check_arch(cubin, wish->arch);

	for (size_t i = 0; !err && i < wish->name.n; i++)
		if (!kl_cubin_kernel(cubin, wish->name.v[i]))
			err = no_kernel(cubin, wish->name.v[i]);
	for (size_t i = 0; !err && i < wish->nlaunch; i++)
		err = check_launch(cubin, &wish->launch[i]);
	return err;
}

int kl_audit_cuda(const struct kl_cubin *cubin, const struct kl_ptx *ptx,
		  const struct kl_sass *sass, const struct kl_cuda_wish *wish)
{
	int err = check_sections(cubin);

	if (!err)
		err = check_undefined(cubin);
	if (!err)
		err = ptx ? check_ptx(ptx, wish) : check_sass(sass);
	return err ? err : check_globals(cubin, ptx, sass);
}
