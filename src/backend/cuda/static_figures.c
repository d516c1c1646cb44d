/* SPDX-License-Identifier: Apache-2.0 */
/* static_figures - figures of device code that need no run: instruction counts, occupancy */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/features.h"

/* -- instructions by class ------------------------------------------------------------------ */

/* The first beginning that fits; what fits none is "other". */
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
		if (!strncmp(op, ptx_classes[i].begins, strlen(ptx_classes[i].begins)))
			return ptx_classes[i].name;
	/* arithmetic says its type last */
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
		if (!strncmp(op, sass_classes[i].begins, strlen(sass_classes[i].begins)))
			return sass_classes[i].name;
	return "other";
}

static void add_count(json_t *o, const char *key, size_t n)
{
	kl_json_set_int(o, key, kl_json_int_or(o, key, 0) + (int64_t)n);
}

static void count_ops(json_t *o, const struct kl_ptx_op *op, size_t n,
		      const char *(*class_of)(const char *))
{
	for (size_t i = 0; i < n; i++) {
		const char *c = class_of(op[i].name);

		if (!strcmp(c, "nop"))
			continue;
		add_count(o, c, op[i].n);
		add_count(o, "total", op[i].n);
	}
}

static json_t *instruction_counts(const struct kl_cuda_code *c, const char *kernel)
{
	const struct kl_sass_fn *s = kl_sass_function(c->sass, kernel);
	const struct kl_ptx_fn *p = c->ptx ? kl_ptx_function(c->ptx, kernel) : NULL;
	json_t *o = json_object();

	if (s)
		count_ops(o, s->op, s->nop, sass_class);
	else if (p)
		count_ops(o, p->op, p->nop, ptx_class);
	kl_json_set_str(o, "of", s ? "sass" : "ptx");
	return o;
}

/* -- occupancy --------------------------------------------------------------------------------- */

/* What one multiprocessor has. Registers: 65536 everywhere, handed out to warps by 256. */
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

static void add_occupancy(json_t *o, const struct kl_cubin_kernel *k,
			  const struct kl_cuda_launch *l, int sm)
{
	const struct limits *m = NULL;
	int64_t warps = round_up(l->threads, 32) / 32, blocks, smem;
	const char *by = "blocks";

	for (size_t i = 0; i < KL_ARRAY_SIZE(limits); i++)
		if (limits[i].sm == sm)
			m = &limits[i];
	if (!m || !warps || !k->registers)
		return;
	blocks = m->blocks;
	smem = round_up(k->smem + l->smem, 128) + (sm >= 80 ? 1024 : 0);
	limit_blocks(&blocks, &by, m->warps / warps, "threads");
	/*
	 * the four quarters of a multiprocessor have 16384 registers each, and warps go round them
	 */
	limit_blocks(&blocks, &by, 16384 / round_up(k->registers * 32, 256) * 4 / warps,
		     "registers");
	if (smem)
		limit_blocks(&blocks, &by, m->smem / smem, "shared");
	kl_json_set_int(o, "blocks_per_sm", blocks);
	kl_json_set_int(o, "occupancy_ppm", blocks * warps * 1000000 / m->warps);
	kl_json_set_str(o, "limited_by", by);
}

/*
 * -- one object a kernel --------------------------------------------------------------------------
 */

static json_t *kernel_figures(const struct kl_cuda_code *c, const char *name)
{
	const struct kl_cubin_kernel *k = kl_cubin_kernel(c->cubin, name);
	struct kl_cuda_spill spill = kl_cuda_spill(c->verbose, name);
	json_t *o = json_object();

	kl_json_set_str(o, "kernel", name);
	kl_json_set_int(o, "registers", k->registers);
	kl_json_set_int(o, "smem_static", k->smem);
	kl_json_set_int(o, "spill_bytes", spill.stores + spill.loads);
	kl_json_set_int(o, "local_bytes", k->frame);
	kl_json_set_int(o, "barriers", k->barriers);
	kl_json_set_int(o, "code_bytes", (int64_t)c->cubin->sec[k->sec].size);
	for (size_t i = 0; i < c->wish->nlaunch; i++) {
		const struct kl_cuda_launch *l = &c->wish->launch[i];

		if (l->point || strcmp(l->kernel, name))
			continue;
		kl_json_set_int(o, "threads", l->threads);
		kl_json_set_int(o, "blocks", l->blocks);
		kl_json_set_int(o, "smem", k->smem + l->smem);
		add_occupancy(o, k, l, c->cubin->sm);
		break;
	}
	kl_json_set(o, "instructions", instruction_counts(c, name));
	return o;
}

json_t *kl_cuda_static(const struct kl_cuda_code *c)
{
	json_t *a = json_array();

	for (size_t i = 0; i < c->wish->name.n; i++)
		json_array_append_new(a, kernel_figures(c, c->wish->name.v[i]));
	return a;
}
