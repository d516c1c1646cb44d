/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/contract.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fs.h"
#include "contract/flags.h"
#include "contract/parts.h"
#include "plan/plan.h"

#define MAX_SOURCES 64
#define MAX_FLAGS 64

/* What a surface of each language may be made of, and be compared with. */
static const struct kl_language {
	const char *name;
	const char *const *suffixes;
	const char *const *mains;	/* suffixes of which `sources` must have one */
	int (*flag_ok)(const char *flag);
	const char *const *baselines;
} languages[] = {
	{
		"c", (const char *const[]){ ".c", ".h", ".inc", NULL }, (const char *const[]){ ".c", NULL },
		kl_compile_flag_ok, (const char *const[]){ "openblas.sgemm", "onednn.conv2d", NULL },
	}, {
		"cuda", (const char *const[]){ ".cu", ".cuh", ".h", ".inc", ".yaml", ".bin", ".cubin", NULL },
		(const char *const[]){ ".cu", ".cubin", NULL }, kl_compile_flag_ok_cuda,
		(const char *const[]){
			"cublas.gemm", "cudnn.conv2d", "cudnn.conv2d-nchw", "cudnn.sdpa", "cub.topk",
			"chunked.gdn", "chunked.gdn-cumsum", "chunked.gdn-kkt", "chunked.gdn-fwd", NULL
		},
	},
};
static const char *const language_names[] = { "c", "cuda", NULL };

static bool has_suffix(const char *path, const char *const *suffixes)
{
	const char *dot = strrchr(path, '.');

	for (; dot && *suffixes; suffixes++)
		if (!strcmp(dot, *suffixes))
			return true;
	return false;
}

static int wrong_suffix(struct kl_node n, const char *path, const char *const *suffixes)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;

	for (size_t i = 0; suffixes[i]; i++)
		kl_buf_addf(&list, "%s%s", !i ? "" : suffixes[i + 1] ? ", " : " or ", suffixes[i]);
	return kl_node_error(n, "'%.200s' is no %s file", path, list.ptr);
}

static int read_source(struct kl_strvec *out, const struct kl_contract *c,
		       const struct kl_language *l, struct kl_node n)
{
	const char *path;
	int err = kl_node_text(&path, n);

	if (err < 0)
		return err;
	if (!kl_fs_path_ok(path))
		return kl_node_error(n, "'%.200s' leaves the contract's directory, or is no plain path",
				     path);
	if (path[0] == '-' || strstr(path, "/-") || strpbrk(path, " \t\"'$`;&|<>*?()#@"))
		return kl_node_error(n, "'%.200s': a path here holds no blanks, no shell signs "
				     "and no part that begins with '-'", path);
	if (!has_suffix(path, l->suffixes))
		return wrong_suffix(n, path, l->suffixes);
	if (kl_strvec_has(out, path))
		return kl_node_error(n, "'%.200s' stands here twice", path);
	/* else an edit of the kernel would move the yardstick */
	if (out != &c->sources && kl_strvec_has(&c->sources, path))
		return kl_node_error(n, "'%.200s' is judged as a source, the oracle may not use it", path);
	kl_strvec_push(out, path);
	return 0;
}

static int read_sources(struct kl_strvec *out, const struct kl_contract *c,
			const struct kl_language *l, struct kl_node n)
{
	int err = kl_node_list(n, 1, MAX_SOURCES);
	bool cuda = !strcmp(l->name, "cuda");
	size_t mains = 0;

	if (err < 0)
		return err;
	for (size_t i = 0; i < n.y->n; i++) {
		if ((err = read_source(out, c, l, kl_node_item(n, i))) < 0)
			return err;
		mains += has_suffix(out->v[i], l->mains);
		if (cuda && mains > 1)
			return kl_node_error(kl_node_item(n, i), "'%.200s' is a second .cu file: device "
					     "code is "
					     "one translation unit, the rest is included", out->v[i]);
	}
	return mains ? 0 : kl_node_error(n, "'%s' has no %s file", n.what, l->mains[0]);
}

/* The plan of a cuda surface or oracle: one of its sources. */
static int read_launch(char **out, const struct kl_strvec *sources, struct kl_node n, struct kl_node list,
		       const char *dflt)
{
	const char *path = dflt;
	int err;

	if (n.y && (err = kl_node_text(&path, n)) < 0)
		return err;
	if (!kl_strvec_has(sources, path))
		return kl_node_error(n.y ? n : list, "the launch plan '%.200s' is none of the sources%s",
				     path,
				     n.y ? "" : " (the key 'launch' names another)");
	if (!has_suffix(path, (const char *const[]){ ".yaml", NULL }))
		return kl_node_error(n, "the launch plan '%.200s' is no .yaml file", path);
	*out = kl_strdup(path);
	return 0;
}

static int read_entry(char **out, struct kl_node n)
{
	const char *s;
	int err = kl_node_ident(&s, n);

	if (err < 0)
		return err;
	if (s[0] == '_' || !strncmp(s, "kl_", 3) || !strcmp(s, "main"))
		return kl_node_error(n, "'%s' is '%s': names that begin with '_' or 'kl_', "
				     "and main, are reserved", n.what, s);
	*out = kl_strdup(s);
	return 0;
}

static int read_flags(struct kl_strvec *out, const struct kl_language *l, struct kl_node n)
{
	int err = kl_node_list(n, 0, MAX_FLAGS);

	if (err < 0)
		return err;
	for (size_t i = 0; i < n.y->n; i++) {
		struct kl_node item = kl_node_item(n, i);
		const char *flag;

		if ((err = kl_node_text(&flag, item)) < 0)
			return err;
		if (l->flag_ok(flag) < 0)
			return kl_node_error_at(item, 0);
		kl_strvec_push(out, flag);
	}
	return 0;
}

static int read_headers(struct kl_strvec *out, struct kl_node n)
{
	int err = kl_node_list(n, 0, KL_HEADERS_MAX);

	for (size_t i = 0; !err && i < n.y->n; i++) {
		struct kl_node item = kl_node_item(n, i);
		const char *name;

		err = kl_node_slug(&name, item);
		if (!err && kl_strvec_has(out, name))
			return kl_node_error(item, "'%s' twice", name);
		if (!err)
			kl_strvec_push(out, name);
	}
	return err;
}

/* It says which other keys there may be, so it is looked at first. */
static int read_language(const struct kl_language **out, struct kl_node n)
{
	struct kl_node language;
	int which, err = kl_node_map(n, 0, 64);

	if (err < 0)
		return err;
	language = kl_node_get(n, "language");
	if (!language.y)
		return kl_node_error(n, "'language' is missing in '%s'", n.what);
	if ((err = kl_node_choice(&which, language, language_names)) < 0)
		return err;
	*out = &languages[which];
	return 0;
}

/* A surface with host code of its own has no plan, which else says for what it is compiled, and how. */
static int read_host(struct kl_contract *c, struct kl_node n)
{
	static const char *const standards[] = { "c++17", "c++20", NULL };
	struct kl_node std = kl_node_get(n, "std"), arch = kl_node_get(n, "arch");
	struct kl_plan_facts facts;
	const char *text;
	int which = 0, err = kl_node_text(&text, arch);

	for (size_t i = 0; !err && i < c->sources.n; i++)
		if (has_suffix(c->sources.v[i], (const char *const[]){ ".yaml", ".cubin", NULL }))
			return kl_node_error(kl_node_item(kl_node_get(n, "sources"), i),
					     "'%.200s': host code launches by itself, from its own source",
					     c->sources.v[i]);
	if (!err && kl_plan_arch_facts(&facts, text) < 0)
		return kl_node_error_at(arch, 0);
	if (!err && std.y)
		err = kl_node_choice(&which, std, standards);
	if (err < 0)
		return err;
	c->arch = kl_strdup(text);
	c->std = kl_strdup(standards[which]);
	return 0;
}

/* What is launched: by a plan, by the surface's own host code, or by a call of a function. */
static int read_way(struct kl_contract *c, struct kl_node n)
{
	if (c->host)
		return read_host(c, n);
	if (kl_contract_is_cuda(c))
		return read_launch(&c->launch, &c->sources, kl_node_get(n, "launch"),
				   kl_node_get(n, "sources"), "launch.yaml");
	return read_entry(&c->entry, kl_node_get(n, "entry"));
}

static int read_surface(struct kl_contract *c, struct kl_node n)
{
	static const char *const c_keys[] = { "language", "sources", "entry", "flags", NULL };
	static const char *const cuda_keys[] = {
		"language", "sources", "host", "launch", "flags", "headers", NULL
	};
	static const char *const host_keys[] = {
		"language", "sources", "arch", "host", "std", "flags", "headers", NULL
	};
	const struct kl_language *l;
	struct kl_node flags, host, headers;
	int err;

	if ((err = read_language(&l, n)) < 0)
		return err;
	c->language = kl_strdup(l->name);
	host = kl_node_get(n, "host");
	if (kl_contract_is_cuda(c) && host.y && (err = kl_node_bool(&c->host, host)) < 0)
		return err;
	if ((err = c->host ? kl_node_keys(n, host_keys, 3) :
	     kl_contract_is_cuda(c) ? kl_node_keys(n, cuda_keys, 2) : kl_node_keys(n, c_keys, 3)) < 0 ||
	    (err = read_sources(&c->sources, c, l, kl_node_get(n, "sources"))) < 0 ||
	    (err = read_way(c, n)) < 0)
		return err;
	flags = kl_node_get(n, "flags");
	headers = kl_node_get(n, "headers");
	err = flags.y ? read_flags(&c->flags, l, flags) : 0;
	return !err && headers.y ? read_headers(&c->headers, headers) : err;
}

static int read_oracle(struct kl_contract *c, struct kl_node n)
{
	static const char *const c_keys[] = { "language", "sources", "entry", NULL };
	static const char *const cuda_keys[] = { "language", "sources", "launch", NULL };
	const struct kl_language *l;
	int err;

	if ((err = read_language(&l, n)) < 0)
		return err;
	if (strcmp(l->name, c->language))
		return kl_node_error(kl_node_get(n, "language"), "the oracle of a surface in '%s' is "
				     "written in it, "
				     "not in '%s'", c->language, l->name);
	if ((err = kl_contract_is_cuda(c) ? kl_node_keys(n, cuda_keys, 2) : kl_node_keys(n, c_keys, 3)) < 0 ||
	    (err = read_sources(&c->oracle_sources, c, l, kl_node_get(n, "sources"))) < 0)
		return err;
	if (kl_contract_is_cuda(c))
		return read_launch(&c->oracle_launch, &c->oracle_sources, kl_node_get(n, "launch"),
				   kl_node_get(n, "sources"), "oracle.yaml");
	return read_entry(&c->oracle_entry, kl_node_get(n, "entry"));
}

static int read_floor_expr(struct kl_expr **out, const struct kl_contract *c, struct kl_node n)
{
	const struct kl_expr_names names = kl_contract_names(c);
	const struct kl_dims *d;
	const char *text;
	char id[32];
	size_t at;
	int err = kl_node_text(&text, n);

	if (err < 0)
		return err;
	if (kl_expr_parse(out, text, &names, KL_EXPR_NUMBER, &at) < 0)
		return kl_node_error_at(n, at);
	for (size_t i = 0; (d = kl_contract_check_point(c, i, id)); i++) {
		int64_t v;

		if (kl_expr_eval(&v, *out, d->v) < 0)
			return kl_node_error(n, "'%s' at %s: %s", n.what, id, kl_error_last());
		if (v < 0)
			return kl_node_error(n, "'%s' at %s is %lld", n.what, id, (long long)v);
	}
	return 0;
}

static int read_floor(struct kl_contract *c, struct kl_node n)
{
	static const char *const known[] = { "bytes", "flops", NULL };
	struct kl_node bytes, flops;
	int err;

	c->floor.bytes_auto = true;
	if (!n.y)
		return 0;
	if ((err = kl_node_keys(n, known, 0)) < 0)
		return err;
	bytes = kl_node_get(n, "bytes");
	flops = kl_node_get(n, "flops");
	if (bytes.y && (bytes.y->kind != KL_YAML_SCALAR || strcmp(bytes.y->text, "auto"))) {
		c->floor.bytes_auto = false;
		if ((bytes.y->kind != KL_YAML_SCALAR || strcmp(bytes.y->text, "none")) &&
		    (err = read_floor_expr(&c->floor.bytes, c, bytes)) < 0)
			return err;
	}
	if (flops.y && (flops.y->kind != KL_YAML_SCALAR || strcmp(flops.y->text, "none")))
		return read_floor_expr(&c->floor.flops, c, flops);
	return 0;
}

static int read_limits(struct kl_contract *c, struct kl_node n)
{
	static const char *const known[] = { "arena_mib", "call_s", NULL };
	struct kl_node arena, call;
	int err;

	c->arena_mib = 256;
	c->call_s = 10;
	if (!n.y)
		return 0;
	if ((err = kl_node_keys(n, known, 0)) < 0)
		return err;
	arena = kl_node_get(n, "arena_mib");
	call = kl_node_get(n, "call_s");
	if (arena.y && (err = kl_node_int(&c->arena_mib, arena, 1, 65536)) < 0)
		return err;
	return call.y ? kl_node_int(&c->call_s, call, 1, 600) : 0;
}

static int read_head(struct kl_contract *c, struct kl_node top)
{
	static const char *const known[] = {
		"klineage", "workload", "case", "surface", "args", "oracle",
		"accept", "domain", "cases", "also", "exact", "bands", "sweep",
		"deterministic", "baseline", "floor", "limits", NULL
	};
	struct kl_node version = kl_node_get(top, "klineage");
	const char *slug;
	int64_t v;
	int err;

	/* A later version may have keys we do not know: its number goes first. */
	if (top.y->kind == KL_YAML_MAP && version.y) {
		if ((err = kl_node_int(&v, version, 1, INT64_MAX)) < 0)
			return err;
		if (v != 1)
			return kl_node_error(version, "contract version %lld is not known here (1 is)",
					     (long long)v);
	}
	if ((err = kl_node_keys(top, known, 7)) < 0 ||
	    (err = kl_node_slug(&slug, kl_node_get(top, "workload"))) < 0)
		return err;
	c->workload = kl_strdup(slug);
	return 0;
}

static int read_tail(struct kl_contract *c, struct kl_node top)
{
	struct kl_node deterministic = kl_node_get(top, "deterministic");
	struct kl_node baseline = kl_node_get(top, "baseline");
	int which, err;

	c->deterministic = true;
	if (deterministic.y && (err = kl_node_bool(&c->deterministic, deterministic)) < 0)
		return err;
	if (baseline.y) {
		const char *const *known = languages[kl_contract_is_cuda(c)].baselines;

		if ((err = kl_node_choice(&which, baseline, known)) < 0)
			return err;
		c->baseline = kl_strdup(known[which]);
	}
	if ((err = read_floor(c, kl_node_get(top, "floor"))) < 0)
		return err;
	return read_limits(c, kl_node_get(top, "limits"));
}

int kl_contract_parse(struct kl_contract **out, const char *name, const char *text, size_t len)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *c = kl_calloc(1, sizeof(*c));
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	struct kl_node top;
	int err;

	c->name = kl_strdup(name);
	if (len > KL_CONTRACT_MAX_BYTES)
		return kl_error(KL_EINVALID, "%s:1:1: larger than %d KiB", name,
				KL_CONTRACT_MAX_BYTES / 1024);
	if ((err = kl_yaml_parse(&y, name, text, len)) < 0)
		return err;
	top = (struct kl_node){ name, y, "contract" };
	if ((err = read_head(c, top)) < 0 ||
	    (err = kl_contract_points_read(c, top)) < 0 ||
	    (err = read_surface(c, kl_node_get(top, "surface"))) < 0 ||
	    (err = kl_contract_args_read(c, top)) < 0 ||
	    (err = read_oracle(c, kl_node_get(top, "oracle"))) < 0 ||
	    (err = kl_contract_accept_read(c, top)) < 0 ||
	    (err = kl_contract_bands_read(c, top)) < 0 ||
	    (err = read_tail(c, top)) < 0)
		return err;
	*out = kl_steal(&c);
	return 0;
}

void kl_contract_free(struct kl_contract *c)
{
	if (!c)
		return;
	free(c->name);
	free(c->workload);
	free(c->op);
	for (size_t i = 0; i < KL_MAX_DIMS; i++)
		free(c->dim_name[i]);
	free(c->language);
	free(c->entry);
	free(c->launch);
	free(c->arch);
	free(c->std);
	kl_strvec_release(&c->sources);
	kl_strvec_release(&c->flags);
	kl_strvec_release(&c->headers);
	for (size_t i = 0; i < KL_MAX_ARGS; i++) {
		free(c->arg[i].name);
		free(c->arg[i].dtype);
		for (size_t a = 0; a < KL_MAX_AXES; a++)
			kl_expr_free(c->arg[i].shape[a]);
		json_decref(c->arg[i].fill);
	}
	for (size_t i = 0; i < c->ndomain; i++) {
		kl_expr_free(c->domain[i]);
		free(c->domain_text[i]);
	}
	free(c->domain);
	free(c->domain_text);
	free(c->perf);
	free(c->also);
	kl_strvec_release(&c->oracle_sources);
	free(c->oracle_entry);
	free(c->oracle_launch);
	json_decref(c->accept);
	json_decref(c->exact);
	json_decref(c->bands);
	free(c->baseline);
	kl_expr_free(c->floor.bytes);
	kl_expr_free(c->floor.flops);
	free(c);
}
