/* SPDX-License-Identifier: Apache-2.0 */
/* static_figures - computes figures of device code that need no run: occupancy and the like */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/features.h"
#include "base/prefix.h"

/* -- counting instructions by class --------------------------------------------------------- */

/*
 * The first prefix that matches an opcode gives its class; if none matches, the class is "other".
 */
struct class_ {
	const char *name, *begins;
};

static const struct class_ ptx_classes[] = {
	{ "tensor", "mma." },
	{ "tensor", "wmma." },
	{ "tensor", "wgmma." },
	{ "tensor", "tcgen05." },
	{ "shared_load", "ldmatrix" },
	{ "shared_store", "stmatrix" },
	{ "async", "cp." },
	{ "sync", "mbarrier" },
	{ "sync", "bar" },
	{ "sync", "fence" },
	{ "sync", "membar" },
	{ "sync", "griddepcontrol" },
	{ "atomic", "atom" },
	{ "atomic", "red." },
	{ "shuffle", "shfl" },
	{ "shuffle", "vote" },
	{ "shuffle", "redux" },
	{ "shuffle", "match" },
	{ "shuffle", "elect" },
	{ "local", "ld.local" },
	{ "local", "st.local" },
	{ "shared_load", "ld.shared" },
	{ "shared_store", "st.shared" },
	{ "parameter", "ld.param" },
	{ "parameter", "st.param" },
	{ "constant_load", "ld.const" },
	{ "global_load", "ld." },
	{ "global_store", "st." },
	{ "special", "ex2" },
	{ "special", "lg2" },
	{ "special", "rcp" },
	{ "special", "rsqrt" },
	{ "special", "sin" },
	{ "special", "cos" },
	{ "special", "tanh" },
	{ "special", "sqrt" },
	{ "convert", "cvt" },
	{ "control", "bra" },
	{ "control", "call" },
	{ "control", "ret" },
	{ "control", "exit" },
	{ "control", "trap" },
	{ "control", "brx" },
};

/* clang-format off */
static const struct class_ sass_classes[] = {
	{ "tensor", "HMMA" },	   { "tensor", "IMMA" },      { "tensor", "DMMA" },
	{ "tensor", "BMMA" },	   { "tensor", "QMMA" },      { "tensor", "OMMA" },
	{ "tensor", "HGMMA" },	   { "tensor", "IGMMA" },     { "tensor", "QGMMA" },
	{ "tensor", "UTC" },	   { "async", "LDGSTS" },     { "async", "UTMA" },
	{ "async", "UBLK" },	   { "sync", "LDGDEPBAR" },   { "sync", "DEPBAR" },
	{ "sync", "WARPGROUP" },   { "sync", "BAR" },	      { "sync", "SYNCS" },
	{ "sync", "FENCE" },	   { "sync", "MEMBAR" },      { "sync", "ERRBAR" },
	{ "sync", "UCGABAR" },	   { "sync", "BSYNC" },	      { "sync", "BSSY" },
	{ "sync", "WARPSYNC" },	   { "sync", "ACQBULK" },     { "sync", "PREEXIT" },
	{ "atomic", "ATOM" },	   { "atomic", "RED." },      { "atomic", "REDG" },
	{ "shuffle", "SHFL" },	   { "shuffle", "VOTE" },     { "shuffle", "MATCH" },
	{ "shuffle", "REDUX" },	   { "shuffle", "CREDUX" },   { "shuffle", "ELECT" },
	{ "shared_load", "LDS" },  { "shared_store", "STS" }, { "local", "LDL" },
	{ "local", "STL" },	   { "parameter", "LDC" },    { "parameter", "ULDC" },
	{ "global_load", "LDG" },  { "global_load", "LD." },  { "global_store", "STG" },
	{ "global_store", "ST." }, { "special", "MUFU" },     { "convert", "F2F" },
	{ "convert", "F2I" },	   { "convert", "I2F" },      { "convert", "F2FP" },
	{ "control", "BRA" },	   { "control", "BRX" },      { "control", "CALL" },
	{ "control", "RET" },	   { "control", "EXIT" },     { "control", "JMP" },
	{ "nop", "NOP" },	   { "float", "FFMA" },	      { "float", "FADD" },
	{ "float", "FMUL" },	   { "float", "FMNMX" },      { "float", "FSET" },
	{ "float", "FSEL" },	   { "float", "DFMA" },	      { "float", "DADD" },
	{ "float", "DMUL" },	   { "float", "HFMA2" },      { "float", "HADD2" },
	{ "float", "HMUL2" },	   { "float", "HMNMX2" },     { "float", "DSET" },
	{ "integer", "IMAD" },	   { "integer", "IADD" },     { "integer", "ISET" },
	{ "integer", "LEA" },	   { "integer", "SHF" },      { "integer", "LOP" },
	{ "integer", "VIADD" },	   { "integer", "IMNMX" },    { "integer", "VIMNMX" },
	{ "integer", "POPC" },	   { "integer", "FLO" },      { "integer", "PRMT" },
	{ "integer", "ISETP" },	   { "integer", "UIADD" },    { "integer", "UIMAD" },
	{ "integer", "ULEA" },	   { "integer", "ULOP" },     { "integer", "USHF" },
	{ "integer", "UISETP" },   { "integer", "IABS" },     { "integer", "SGXT" },
};
/* clang-format on */

static const char *ptx_class(const char *op)
{
	size_t n = strlen(op);

	for (size_t i = 0; i < KL_ARRAY_SIZE(ptx_classes); i++)
		if (kl_prefix_has(op, ptx_classes[i].begins))
			return ptx_classes[i].name;
	/* the last modifier of arithmetic is its type */
	if (n > 4 &&
	    (strstr(op, ".f32") || strstr(op, ".f64") || strstr(op, ".f16") || strstr(op, ".bf16")))
		return "float";
	if (n > 4 && op[n - 4] == '.' && strchr("subf", op[n - 3]))
		return "integer";
	return "other";
}

static const char *sass_class(const char *op)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(sass_classes); i++)
		if (kl_prefix_has(op, sass_classes[i].begins))
			return sass_classes[i].name;
	return "other";
}

static void add_count(json_t *object, const char *key, size_t n)
{
	kl_json_set_int(object, key, kl_json_int_or(object, key, 0) + (int64_t)n);
}

static void count_ops(json_t *object, const struct kl_ptx_op *op, size_t n,
		      const char *(*class_of)(const char *))
{
	for (size_t i = 0; i < n; i++) {
		const char *class_name = class_of(op[i].name);

		if (!strcmp(class_name, "nop"))
			continue;
		add_count(object, class_name, op[i].n);
		add_count(object, "total", op[i].n);
	}
}

static json_t *instruction_counts(const struct kl_cuda_code *code, const char *kernel)
{
	const struct kl_sass_fn *sass_fn = kl_sass_function(code->sass, kernel);
	const struct kl_ptx_fn *ptx_fn = code->ptx ? kl_ptx_function(code->ptx, kernel) : NULL;
	json_t *object = json_object();

	if (sass_fn)
		count_ops(object, sass_fn->op, sass_fn->nop, sass_class);
	else if (ptx_fn)
		count_ops(object, ptx_fn->op, ptx_fn->nop, ptx_class);
	kl_json_set_str(object, "of", sass_fn ? "sass" : "ptx");
	return object;
}

/* -- computing the occupancy ------------------------------------------------------------------- */

/*
 * Resources of one multiprocessor: warps, blocks, and bytes of shared memory. All multiprocessors
 * have 65536 registers, which are allocated to warps in units of 256.
 */
static const struct limits {
	int sm;
	int64_t warps, blocks, smem;
} limits[] = {
	{ 75, 32, 16, 64 << 10 },   { 80, 64, 32, 164 << 10 },  { 86, 48, 16, 100 << 10 },
	{ 87, 48, 16, 164 << 10 },  { 89, 48, 24, 100 << 10 },  { 90, 64, 32, 228 << 10 },
	{ 100, 64, 32, 228 << 10 }, { 103, 64, 32, 228 << 10 }, { 120, 48, 24, 100 << 10 },
	{ 121, 48, 24, 100 << 10 },
};

static int64_t round_up(int64_t n, int64_t to)
{
	return (n + to - 1) / to * to;
}

static void limit_blocks(int64_t *blocks, const char **by, int64_t n, const char *what)
{
	if (n < *blocks) {
		*blocks = n;
		*by = what;
	}
}

static void add_occupancy(json_t *object, const struct kl_cubin_kernel *kernel,
			  const struct kl_cuda_launch *launch, int sm)
{
	const struct limits *sm_limits = NULL;
	int64_t warps = round_up(launch->threads, 32) / 32, blocks, smem;
	const char *by = "blocks";

	for (size_t i = 0; i < KL_ARRAY_SIZE(limits); i++)
		if (limits[i].sm == sm)
			sm_limits = &limits[i];
	if (!sm_limits || !warps || !kernel->registers)
		return;
	blocks = sm_limits->blocks;
	smem = round_up(kernel->smem + launch->smem, 128) + (sm >= 80 ? 1024 : 0);
	limit_blocks(&blocks, &by, sm_limits->warps / warps, "threads");
	/*
	 * a multiprocessor has four partitions of 16384 registers each; warps are spread evenly
	 * over them
	 */
	limit_blocks(&blocks, &by, 16384 / round_up(kernel->registers * 32, 256) * 4 / warps,
		     "registers");
	if (smem)
		limit_blocks(&blocks, &by, sm_limits->smem / smem, "shared");
	kl_json_set_int(object, "blocks_per_sm", blocks);
	kl_json_set_int(object, "occupancy_ppm", blocks * warps * 1000000 / sm_limits->warps);
	kl_json_set_str(object, "limited_by", by);
}

/*
 * -- writing the figures of each kernel ---------------------------------------------------------
 */

static json_t *kernel_figures(const struct kl_cuda_code *code, const char *name)
{
	const struct kl_cubin_kernel *kernel = kl_cubin_kernel(code->cubin, name);
	struct kl_cuda_spill spill = kl_cuda_spill(code->verbose, name);
	json_t *object = json_object();

	kl_json_set_str(object, "kernel", kl_cuda_wish_planned(code->wish, name));
	kl_json_set_int(object, "registers", kernel->registers);
	kl_json_set_int(object, "smem_static", kernel->smem);
	kl_json_set_int(object, "spill_bytes", spill.stores + spill.loads);
	kl_json_set_int(object, "local_bytes", kernel->frame);
	kl_json_set_int(object, "barriers", kernel->barriers);
	kl_json_set_int(object, "code_bytes", (int64_t)code->cubin->sec[kernel->sec].size);
	for (size_t i = 0; i < code->wish->nlaunch; i++) {
		const struct kl_cuda_launch *launch = &code->wish->launch[i];

		if (launch->point || strcmp(launch->kernel, name))
			continue;
		kl_json_set_int(object, "threads", launch->threads);
		kl_json_set_int(object, "blocks", launch->blocks);
		kl_json_set_int(object, "smem", kernel->smem + launch->smem);
		add_occupancy(object, kernel, launch, code->cubin->sm);
		break;
	}
	kl_json_set(object, "instructions", instruction_counts(code, name));
	return object;
}

json_t *kl_cuda_static(const struct kl_cuda_code *code)
{
	json_t *array = json_array();

	for (size_t i = 0; i < code->wish->name.n; i++)
		json_array_append_new(array, kernel_figures(code, code->wish->name.v[i]));
	return array;
}
