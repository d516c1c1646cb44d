/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/launch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "contract/parts.h"
#include "text/digest.h"

#define MAX_BYTES (256 * 1024)

/* State while a plan is read. */
struct reading {
	const struct kl_contract *c;
	const char *name; /* of the file, for messages */
	const struct kl_yaml *y;
	const struct kl_file *file;
	size_t nfile;
	char place[KL_PLAN_PLACE];
};

/* --- YAML to JSON --------------------------------------------------------- */

/* A whole number of 64 bits, unquoted. */
static bool is_whole(int64_t *value, const struct kl_yaml *node)
{
	size_t sign = node->text[0] == '-', digits = strspn(node->text + sign, "0123456789");

	errno = 0;
	*value = strtoll(node->text, NULL, 10);
	return node->plain && digits && sign + digits == node->len && !errno;
}

static json_t *scalar_json(const struct kl_yaml *node)
{
	int64_t value;

	if (is_whole(&value, node))
		return json_integer(value);
	if (node->plain && (!strcmp(node->text, "true") || !strcmp(node->text, "false")))
		return json_boolean(node->text[0] == 't');
	if (node->plain && !strcmp(node->text, "null"))
		return json_null();
	return json_string(node->text);
}

/*
 * Convert the plan to JSON. The plan's parser tells expressions, names and numbers in text apart.
 */
static json_t *to_json(const struct kl_yaml *node)
{
	json_t *out;

	if (node->kind == KL_YAML_SCALAR)
		return scalar_json(node);
	out = node->kind == KL_YAML_MAP ? json_object() : json_array();
	for (size_t i = 0; i < node->n; i++) {
		json_t *value = to_json(node->item[i]);

		if (node->kind == KL_YAML_MAP)
			kl_json_set(out, node->key[i], value);
		else
			json_array_append_new(out, value);
	}
	return out;
}

/* Turn `let` into a list of maps: it is ordered, and the members of a JSON object are not. */
static void order_lets(json_t *doc)
{
	json_t *let = json_object_get(doc, "let"), *list, *value;
	const char *key;

	if (!json_is_object(let))
		return;
	list = json_array();
	json_object_foreach(let, key, value) {
		json_t *one = json_object();

		json_object_set(one, key, value);
		json_array_append_new(list, one);
	}
	kl_json_set(doc, "let", list);
}

/* --- places -------------------------------------------------------------------- */

static const struct kl_yaml *step_down(const struct kl_yaml *at, const char *text, size_t n)
{
	KL_AUTO(kl_freep) char *key = kl_strndup(text, n);
	size_t i;

	if (*text != '[')
		return at->kind == KL_YAML_MAP ? kl_yaml_get(at, key) : NULL;
	i = strtoul(key + 1, NULL, 10);
	return at->kind == KL_YAML_SEQ && i < at->n ? at->item[i] : NULL;
}

/*
 * Add the line and column of reading->place ("launch[0].grid[1]@4": byte 4 of that value) to the
 * last error. If the place does not exist, because a key is missing, use the last value on its
 * path.
 */
static int at_place(const struct reading *reading)
{
	const struct kl_yaml *at = reading->y, *next;
	const char *text = reading->place;

	while (*text && *text != '@' && *text != '?') {
		size_t n;

		text += *text == '.';
		n = *text == '[' ? strcspn(text, "]") + 1 : strcspn(text, ".[@?");
		next = step_down(at, text, n);
		if (!next)
			break;
		if (text[n] == '?')
			for (size_t i = 0; i < at->n; i++)
				if (at->item[i] == next)
					return kl_yaml_key_error(reading->name, at, i, "%s",
								 kl_error_last());
		at = next;
		text += n;
	}
	if (*text == '@' && at->kind == KL_YAML_SCALAR)
		return kl_yaml_error_inside(reading->name, at, strtoul(text + 1, NULL, 10));
	return kl_yaml_error(reading->name, at, "%s", kl_error_last());
}

/* --- files -------------------------------------------------------------------- */

static const struct kl_file *find_file(const struct reading *reading, const char *path)
{
	for (size_t i = 0; i < reading->nfile; i++)
		if (!strcmp(reading->file[i].path, path))
			return &reading->file[i];
	return NULL;
}

static int embed_one(const struct reading *reading, const struct kl_yaml *node, json_t *arg)
{
	const struct kl_yaml *at = node->kind == KL_YAML_MAP ? kl_yaml_get(node, "bytes") : NULL;
	KL_AUTO(kl_buf_release) struct kl_buf hex = KL_BUF_INIT;
	const struct kl_file *file;
	json_t *bytes;

	if (!at)
		return 0;
	file = at->kind == KL_YAML_SCALAR ? find_file(reading, at->text) : NULL;
	if (!file)
		return kl_yaml_error(reading->name, at, "'bytes' names no file among the sources");
	if (!file->len || file->len > KL_PLAN_MAX_PARAM_BYTES)
		return kl_yaml_error(reading->name, at, "'%s' has %zu bytes: 1 to %d are possible",
				     file->path, file->len, KL_PLAN_MAX_PARAM_BYTES);
	for (size_t i = 0; i < file->len; i++)
		kl_buf_addf(&hex, "%02x", (unsigned char)file->data[i]);
	bytes = json_object();
	kl_json_set_str(bytes, "hex", hex.ptr);
	kl_json_set(arg, "bytes", bytes);
	return 0;
}

/*
 * Replace the names of `bytes` files by their contents, since the worker does not have the files.
 */
static int embed_member(const struct reading *reading, const char *key, json_t *doc)
{
	const struct kl_yaml *list = kl_yaml_get(reading->y, key);
	json_t *launches = json_object_get(doc, key);
	int err = 0;

	for (size_t i = 0; list && list->kind == KL_YAML_SEQ && i < list->n; i++) {
		const struct kl_yaml *node = list->item[i];
		const struct kl_yaml *args = node->kind == KL_YAML_MAP ? kl_yaml_get(node, "args") :
									 NULL;
		json_t *jargs = json_object_get(json_array_get(launches, i), "args");

		for (size_t k = 0; !err && args && args->kind == KL_YAML_SEQ && k < args->n; k++)
			err = embed_one(reading, args->item[k], json_array_get(jargs, k));
	}
	return err;
}

static int check_artefact(struct reading *reading, const struct kl_plan *plan)
{
	const struct kl_plan_artefact *artefact = kl_plan_artefact(plan);
	const struct kl_file *file;
	char hex[KL_DIGEST_HEX];

	if (!artefact)
		return 0;
	file = find_file(reading, artefact->cubin);
	snprintf(reading->place, sizeof(reading->place), "artefact.cubin");
	if (!file) {
		kl_error(KL_EINVALID, "artefact.cubin: '%.64s' is none of the sources",
			 artefact->cubin);
		return at_place(reading);
	}
	kl_digest_hex(hex, file->data, file->len);
	snprintf(reading->place, sizeof(reading->place), "artefact.sha256");
	if (strcmp(hex, artefact->sha256)) {
		kl_error(KL_EINVALID, "artefact.sha256: '%.64s' has the digest %s", artefact->cubin,
			 hex);
		return at_place(reading);
	}
	return 0;
}

/* --- checks --------------------------------------------------------------------- */

static int parse_plan(struct kl_plan **out, struct reading *reading, const json_t *doc)
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
	return kl_plan_parse(out, doc, &names, reading->place) < 0 ? at_place(reading) : 0;
}

static int check_point(struct reading *reading, const struct kl_plan *plan,
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
	if (kl_plan_resolve_place(&at, plan, dims->v, bytes, facts, reading->place) == 0)
		return 0;
	kl_error(KL_EINVALID, "%s (%s)", kl_error_last(), id);
	return at_place(reading);
}

static int check_points(struct reading *reading, const struct kl_plan *plan, const char *arch)
{
	struct kl_plan_facts facts;
	const struct kl_dims *dims;
	char id[32];
	int err = kl_plan_arch_facts(&facts, arch);

	for (size_t i = 0; !err && (dims = kl_contract_check_point(reading->c, i, id)); i++)
		err = check_point(reading, plan, dims, id, &facts);
	return err;
}

/* Use the plan's own architecture, which must run on `arch` (NULL: any); by default, `arch`. */
static int choose_arch(struct kl_launch *launch, struct reading *reading, const char *arch)
{
	const char *own = kl_plan_compile(launch->plan)->arch;
	struct kl_plan_facts facts;

	snprintf(reading->place, sizeof(reading->place), "compile.arch");
	if (!own[0] && !arch) {
		snprintf(reading->place, sizeof(reading->place), "%s",
			 kl_plan_artefact(launch->plan) ? "artefact" : "compile");
		kl_error(KL_EINVALID, "'arch' is missing in '%s'", reading->place);
		return at_place(reading);
	}
	if (own[0] && arch &&
	    (kl_plan_arch_facts(&facts, arch) < 0 || !kl_plan_arch_runs(own, facts.cc))) {
		kl_error(KL_EINVALID,
			 "compile.arch: code for %s does not run where the kernel's does (%s)", own,
			 arch);
		return at_place(reading);
	}
	snprintf(launch->arch, sizeof(launch->arch), "%s", own[0] ? own : arch);
	snprintf(launch->platform, sizeof(launch->platform), "cuda/sm_%.*s",
		 (int)strspn(launch->arch + 3, "0123456789"), launch->arch + 3);
	return 0;
}

int kl_launch_parse(struct kl_launch **out, const struct kl_contract *contract, const char *name,
		    const char *text, size_t len, const struct kl_file *file, size_t nfile,
		    const char *arch)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = kl_calloc(1, sizeof(*launch));
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	struct reading reading = { .c = contract, .name = name, .file = file, .nfile = nfile };
	int err;

	if (len > MAX_BYTES)
		return kl_error(KL_EINVALID, "%s:1:1: larger than %d KiB", name, MAX_BYTES / 1024);
	if ((err = kl_yaml_parse(&node, name, text, len)) < 0)
		return err;
	reading.y = node;
	launch->json = to_json(node);
	order_lets(launch->json);
	if ((err = embed_member(&reading, "prepare", launch->json)) < 0 ||
	    (err = embed_member(&reading, "launch", launch->json)) < 0 ||
	    (err = parse_plan(&launch->plan, &reading, launch->json)) < 0 ||
	    (err = check_artefact(&reading, launch->plan)) < 0 ||
	    (err = choose_arch(launch, &reading, arch)) < 0 ||
	    (err = check_points(&reading, launch->plan, launch->arch)) < 0)
		return err;
	*out = kl_steal(&launch);
	return 0;
}

/* --- a surface's ------------------------------------------------------------------ */

static const struct kl_file *plan_file(const struct kl_file *file, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(file[i].path, path))
			return &file[i];
	KL_BUG("the plan is none of the surface's files");
}

/* The candidate's architecture, or NULL. Defects of its plan are reported when that is read. */
static char *peek_arch(const struct kl_surface *surface)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	static const char *const keys[] = { "compile", "artefact" };
	struct kl_plan_facts facts;
	const struct kl_file *file;

	if (surface->contract->arch)
		return kl_strdup(surface->contract->arch);
	file = plan_file(surface->file, surface->nfile, surface->contract->launch);
	if (file->len > MAX_BYTES || kl_yaml_parse(&node, file->path, file->data, file->len) < 0 ||
	    node->kind != KL_YAML_MAP)
		return NULL;
	for (size_t i = 0; i < KL_ARRAY_SIZE(keys); i++) {
		const struct kl_yaml *value = kl_yaml_get(node, keys[i]);

		value = value && value->kind == KL_YAML_MAP ? kl_yaml_get(value, "arch") : NULL;
		if (value && value->kind == KL_YAML_SCALAR &&
		    !kl_plan_arch_facts(&facts, value->text))
			return kl_strdup(value->text);
	}
	return NULL;
}

/* With `artefact`, the sources must not have a .cu file; without it, no .cubin file. */
static int check_main(const struct kl_launch *launch, const struct kl_strvec *sources,
		      const char *name)
{
	const struct kl_plan_artefact *artefact = kl_plan_artefact(launch->plan);

	for (size_t i = 0; i < sources->n; i++) {
		const char *dot = strrchr(sources->v[i], '.');

		if (artefact && !strcmp(dot, ".cu"))
			return kl_error(KL_EINVALID,
					"%s:1:1: 'artefact' names machine code, but '%s' is "
					"a source",
					name, sources->v[i]);
		if (!artefact && !strcmp(dot, ".cubin"))
			return kl_error(KL_EINVALID,
					"%s:1:1: '%s' is machine code, which needs 'artefact'",
					name, sources->v[i]);
	}
	return 0;
}

int kl_launch_read(struct kl_launch **out, const struct kl_surface *surface, bool oracle)
{
	const struct kl_contract *contract = surface->contract;
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	KL_AUTO(kl_freep) char *arch = NULL, *name = NULL;
	const struct kl_file *file;
	int err;

	if (oracle ? !contract->oracle_launch : !contract->launch)
		return kl_error(KL_ENOTFOUND, "%s: a surface of language '%s' has no launch plan%s",
				contract->name, contract->language->name,
				contract->arch ? ": its host code launches" : "");
	if (oracle)
		arch = peek_arch(surface);
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
	json_decref(launch->json);
	free(launch);
}
