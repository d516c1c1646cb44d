/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/launch.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "contract/parts.h"
#include "text/digest.h"
#include "text/yaml_write.h"

#define MAX_BYTES (256 * 1024)

/* State while a plan is read. */
struct reading {
	const struct kl_contract *c;
	const char *name; /* path of the plan, for messages */
	const struct kl_file *file;
	size_t nfile;
};

/* --- files that a plan names --------------------------------------------------- */

static const struct kl_file *find_file(const struct reading *reading, const char *path)
{
	for (size_t i = 0; i < reading->nfile; i++)
		if (!strcmp(reading->file[i].path, path))
			return &reading->file[i];
	return NULL;
}

/* Replace a file's name by the file's contents, written as {hex: "00ff"}. */
static void put_bytes(struct kl_yaml *node, const struct kl_file *file)
{
	KL_AUTO(kl_buf_release) struct kl_buf hex = KL_BUF_INIT;

	for (size_t i = 0; i < file->len; i++)
		kl_buf_addf(&hex, "%02x", (unsigned char)file->data[i]);
	kl_freep(&node->text);
	node->kind = KL_YAML_MAP;
	kl_yaml_put(node, "hex", kl_yaml_new_text(hex.ptr));
}

static int embed_one(const struct reading *reading, struct kl_yaml *node)
{
	const struct kl_file *file = node->kind == KL_YAML_SCALAR ? find_file(reading, node->text) :
								    NULL;

	if (!file)
		return kl_yaml_error(reading->name, node, "'bytes' must name one of the sources");
	if (!file->len || file->len > KL_PLAN_MAX_PARAM_BYTES)
		return kl_yaml_error(reading->name, node,
				     "'%s' has %zu bytes; it must have 1 to %d", file->path,
				     file->len, KL_PLAN_MAX_PARAM_BYTES);
	put_bytes(node, file);
	return 0;
}

static struct kl_yaml *member_of(struct kl_yaml *map, const char *key)
{
	/* const can be cast away, since the caller may change the tree */
	return (struct kl_yaml *)(uintptr_t)kl_yaml_get(map, key);
}

/*
 * Replace the names of `bytes` files by their contents, since the worker does not have the files.
 * A value that is not a list of launches is skipped; kl_plan_parse() reports it.
 */
static int embed_launches(const struct reading *reading, struct kl_yaml *tree, const char *key)
{
	struct kl_yaml *list = member_of(tree, key);
	int err = 0;

	for (size_t i = 0; list && list->kind == KL_YAML_SEQ && i < list->n; i++) {
		struct kl_yaml *args = member_of(list->item[i], "args");

		for (size_t k = 0; !err && args && args->kind == KL_YAML_SEQ && k < args->n; k++) {
			struct kl_yaml *bytes = member_of(args->item[k], "bytes");

			if (bytes)
				err = embed_one(reading, bytes);
		}
	}
	return err;
}

static int check_artefact(const struct reading *reading, const struct kl_plan *plan)
{
	const struct kl_plan_artefact *artefact = kl_plan_artefact(plan);
	const struct kl_yaml *node = kl_yaml_get(kl_plan_tree(plan), "artefact");
	const struct kl_file *file;
	char hex[KL_DIGEST_HEX];

	if (!artefact)
		return 0;
	file = find_file(reading, artefact->cubin);
	if (!file)
		return kl_yaml_error(reading->name, kl_yaml_get(node, "cubin"),
				     "'%.64s' is not one of the sources", artefact->cubin);
	kl_digest_hex(hex, file->data, file->len);
	if (strcmp(hex, artefact->sha256))
		return kl_yaml_error(reading->name, kl_yaml_get(node, "sha256"),
				     "the digest does not match: '%.64s' has the digest %s",
				     artefact->cubin, hex);
	return 0;
}

/* --- parsing and checking a plan ------------------------------------------------- */

static int parse_plan(struct kl_plan **out, const struct reading *reading, struct kl_yaml *tree)
{
	const struct kl_contract *contract = reading->c;
	const char *tensor[KL_MAX_ARGS] = { NULL };
	struct kl_plan_scalar scalars[KL_MAX_ARGS] = { { NULL, NULL, 0 } };
	const struct kl_plan_names names = {
		.dim = (const char *const *)contract->dim_name,
		.ndim = contract->dims.n,
		.tensor = tensor,
		.ntensor = contract->nargs,
		.scalar = scalars,
	};

	for (size_t i = 0; i < contract->nargs; i++) {
		const struct kl_arg *arg = &contract->arg[i];

		if (arg->kind >= KL_ARG_IN)
			tensor[i] = arg->name;
		else if (arg->kind == KL_ARG_SCALAR)
			scalars[i] = (struct kl_plan_scalar){ arg->name, kl_dtype_name(arg->dtype),
							      arg->value };
	}
	return kl_plan_parse(out, tree, reading->name, &names);
}

static int check_point(const struct reading *reading, const struct kl_plan *plan,
		       const struct kl_dims *dims, const char *id,
		       const struct kl_plan_facts *facts)
{
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = NULL;
	int64_t bytes[KL_MAX_ARGS] = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < reading->c->nargs; i++)
		if (reading->c->arg[i].naxes)
			err = kl_contract_tensor_bytes(&bytes[i], reading->c, i, dims);
	if (err < 0)
		return err;
	if (kl_plan_resolve(&at, plan, dims->v, bytes, facts) == 0)
		return 0;
	return kl_error(KL_EINVALID, "%s (%s)", kl_error_last(), id);
}

static int check_points(const struct reading *reading, const struct kl_plan *plan, const char *arch)
{
	struct kl_plan_facts facts;
	const struct kl_dims *dims;
	char id[32];
	int err = kl_plan_arch_facts(&facts, arch);

	for (size_t i = 0; !err && (dims = kl_contract_check_point(reading->c, i, id)); i++)
		err = check_point(reading, plan, dims, id, &facts);
	return err;
}

static int refuse_arch(const struct reading *reading, const struct kl_plan *plan, const char *arch)
{
	const char *key = kl_plan_artefact(plan) ? "artefact" : "compile";
	const struct kl_yaml *tree = kl_plan_tree(plan), *section = kl_yaml_get(tree, key);

	if (!kl_plan_compile(plan)->arch)
		return kl_yaml_error(reading->name, section ? section : tree,
				     "'arch' is missing in '%s'", key);
	return kl_yaml_error(reading->name, kl_yaml_get(section, "arch"),
			     "code for %s does not run on the kernel's architecture, %s",
			     kl_plan_compile(plan)->arch, arch);
}

/*
 * Set the architecture to the one that the plan names. Use `arch` if the plan names none, or if the
 * plan compiles source for an earlier architecture. Fail if code for the plan's architecture does
 * not run on `arch` (NULL if any architecture is allowed).
 */
static int choose_arch(struct kl_launch *launch, const struct reading *reading, const char *arch)
{
	const char *own = kl_plan_compile(launch->plan)->arch;
	struct kl_plan_facts facts;

	if (!own && !arch)
		return refuse_arch(reading, launch->plan, arch);
	if (own && arch && kl_plan_arch_facts(&facts, arch) < 0)
		return refuse_arch(reading, launch->plan, arch);
	snprintf(launch->arch, sizeof(launch->arch), "%s", own ? own : arch);
	if (own && arch && !kl_plan_arch_runs(own, facts.cc) &&
	    (kl_plan_artefact(launch->plan) ||
	     !kl_plan_arch_raise(launch->arch, sizeof(launch->arch), own, facts.cc)))
		return refuse_arch(reading, launch->plan, arch);
	snprintf(launch->platform, sizeof(launch->platform), "cuda/sm_%.*s",
		 (int)strspn(launch->arch + 3, "0123456789"), launch->arch + 3);
	return 0;
}

int kl_launch_parse(struct kl_launch **out, const struct kl_contract *contract, const char *name,
		    const char *text, size_t len, const struct kl_file *file, size_t nfile,
		    const char *arch)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = kl_calloc(1, sizeof(*launch));
	KL_AUTO(kl_yaml_freep) struct kl_yaml *tree = NULL;
	const struct reading reading = {
		.c = contract, .name = name, .file = file, .nfile = nfile
	};
	int err;

	if (len > MAX_BYTES)
		return kl_error(KL_EINVALID, "%s:1:1: the launch plan is larger than %d KiB", name,
				MAX_BYTES / 1024);
	if ((err = kl_yaml_parse(&tree, name, text, len)) < 0)
		return err;
	tree->paths = true;
	if ((err = embed_launches(&reading, tree, "prepare")) < 0 ||
	    (err = embed_launches(&reading, tree, "launch")) < 0 ||
	    (err = parse_plan(&launch->plan, &reading, kl_steal(&tree))) < 0 ||
	    (err = check_artefact(&reading, launch->plan)) < 0 ||
	    (err = choose_arch(launch, &reading, arch)) < 0 ||
	    (err = check_points(&reading, launch->plan, launch->arch)) < 0)
		return err;
	*out = kl_steal(&launch);
	return 0;
}

/* --- reading the plan of a surface or its oracle ------------------------------------ */

static const struct kl_file *plan_file(const struct kl_file *file, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(file[i].path, path))
			return &file[i];
	KL_BUG("the plan is not one of the surface's files");
}

/*
 * Return the candidate's architecture; the caller frees. Return NULL if its plan is invalid, which
 * is reported when the plan is read. *source is true if the plan compiles source, which can also be
 * compiled for a later architecture.
 */
static char *peek_arch(bool *source, const struct kl_surface *surface)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	static const char *const keys[] = { "compile", "artefact" };
	struct kl_plan_facts facts;
	const struct kl_file *file;

	*source = false;
	if (surface->contract->arch)
		return kl_strdup(surface->contract->arch);
	file = plan_file(surface->file, surface->nfile, surface->contract->launch);
	if (file->len > MAX_BYTES || kl_yaml_parse(&node, file->path, file->data, file->len) < 0 ||
	    node->kind != KL_YAML_MAP)
		return NULL;
	for (size_t i = 0; i < KL_ARRAY_SIZE(keys); i++) {
		const struct kl_yaml *value = kl_yaml_get(node, keys[i]);

		value = value && value->kind == KL_YAML_MAP ? kl_yaml_get(value, "arch") : NULL;
		if (!value || value->kind != KL_YAML_SCALAR ||
		    kl_plan_arch_facts(&facts, value->text) < 0)
			continue;
		*source = i == 0;
		return kl_strdup(value->text);
	}
	return NULL;
}

/*
 * Return the architecture for which a plan must be read; the caller frees. This is the architecture
 * of the platform if the candidate's source can be compiled for it. Otherwise it is the candidate's
 * architecture for the plan of an oracle, and NULL (the plan's own) for the candidate's plan.
 */
static char *target_arch(const struct kl_surface *surface, bool oracle, const char *platform)
{
	const char *slash = platform ? strchr(platform, '/') : NULL;
	struct kl_plan_facts facts;
	bool source;
	KL_AUTO(kl_freep) char *own = peek_arch(&source, surface);
	char raised[16];

	if (own && source && slash && !strncmp(platform, "cuda/", 5) &&
	    kl_plan_arch_facts(&facts, slash + 1) == 0 &&
	    kl_plan_arch_raise(raised, sizeof(raised), own, facts.cc))
		return kl_strdup(raised);
	kl_error_clear();
	return oracle ? kl_steal(&own) : NULL;
}

/*
 * Refuse .cu files among the sources if the plan has an `artefact`; refuse .cubin files if it has
 * none.
 */
static int check_main(const struct kl_launch *launch, const struct kl_strvec *sources,
		      const char *name)
{
	const struct kl_plan_artefact *artefact = kl_plan_artefact(launch->plan);

	for (size_t i = 0; i < sources->n; i++) {
		const char *dot = strrchr(sources->v[i], '.');

		if (artefact && !strcmp(dot, ".cu"))
			return kl_error(
				KL_EINVALID,
				"%s:1:1: the plan has an 'artefact', so '%s' cannot be a source",
				name, sources->v[i]);
		if (!artefact && !strcmp(dot, ".cubin"))
			return kl_error(
				KL_EINVALID,
				"%s:1:1: '%s' is machine code, for which the plan must have "
				"'artefact'",
				name, sources->v[i]);
	}
	return 0;
}

int kl_launch_read(struct kl_launch **out, const struct kl_surface *surface, bool oracle,
		   const char *platform)
{
	const struct kl_contract *contract = surface->contract;
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	KL_AUTO(kl_freep) char *arch = NULL, *name = NULL;
	const struct kl_file *file;
	int err;

	if (oracle ? !contract->oracle_launch : !contract->launch)
		return kl_error(KL_ENOTFOUND, "%s: a surface of language '%s' has no launch plan%s",
				contract->name, contract->language->name,
				contract->arch ? ", because its host code launches the kernels" :
						 "");
	arch = target_arch(surface, oracle, platform);
	file = oracle ? plan_file(surface->oracle, surface->noracle, contract->oracle_launch) :
			plan_file(surface->file, surface->nfile, contract->launch);
	name = kl_fs_join(surface->dir, file->path);
	err = kl_launch_parse(&launch, contract, name, file->data, file->len,
			      oracle ? surface->oracle : surface->file,
			      oracle ? surface->noracle : surface->nfile, arch);
	if (err < 0 ||
	    (err = check_main(launch, oracle ? &contract->oracle_sources : &contract->sources,
			      name)) < 0)
		return err;
	*out = kl_steal(&launch);
	return 0;
}

void kl_launch_free(struct kl_launch *launch)
{
	if (!launch)
		return;
	kl_plan_free(launch->plan);
	free(launch);
}
