/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/skeleton.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/map.h"
#include "contract/contract.h"
#include "contract/skeleton_parts.h"
#include "text/name.h"
#include "text/template.h"

#define MAX_TEMPLATE (64 * 1024)

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/";

/* Return true if a contract can name this file as a source. */
static bool is_source(const struct kl_language *language, const char *path)
{
	return kl_suffix_in(path, language->suffixes) && kl_fs_path_ok(path) &&
	       !path[strspn(path, plain)] && path[0] != '-' && !strstr(path, "/-");
}

static char *sources_of(const struct kl_language *language, const struct kl_proto *proto,
			const char *leaf, const struct kl_skeleton *sk)
{
	struct kl_strvec all = KL_STRVEC_INIT;
	struct kl_buf buf = KL_BUF_INIT;

	if (sk->unit_name)
		kl_strvec_push(&all, sk->unit_name);
	kl_strvec_push(&all, leaf);
	for (size_t i = 0; i < proto->headers.n; i++)
		if (is_source(language, proto->headers.v[i]) &&
		    !kl_strvec_has(&all, proto->headers.v[i]))
			kl_strvec_push(&all, proto->headers.v[i]);
	if (sk->plan_name)
		kl_strvec_push(&all, sk->plan_name);
	for (size_t i = 0; i < all.n; i++)
		kl_buf_addf(&buf, "%s%s", i ? ", " : "", all.v[i]);
	kl_strvec_release(&all);
	return kl_buf_detach(&buf);
}

/* --- writing parts of the oracle --------------------------------------------------- */

/*
 * Return the prototype of the oracle. With an adapter, it leaves out the parameters of unknown
 * types.
 */
static char *oracle_prototype(const struct kl_language *language, const struct kl_proto *proto,
			      bool adapted)
{
	size_t n = 0;
	struct kl_buf buf = KL_BUF_INIT;

	kl_buf_addf(&buf, "%s oracle(",
		    language->init->plan                   ? "KL_ORACLE" :
		    !kl_skeleton_judges(&proto->returned)  ? "void" :
		    kl_skeleton_is_float(&proto->returned) ? "kl_real" :
							     proto->returned.type);
	for (size_t i = 0; i < proto->n; i++) {
		const struct kl_param *param = &proto->param[i];
		/* on a GPU, only tensors have the type kl_real */
		bool real = kl_skeleton_is_float(param) &&
			    (param->pointer || !language->init->plan);

		if (adapted && !param->dtype)
			continue;
		kl_buf_addf(&buf, "%s%s%s %s%s", n++ ? ", " : "",
			    kl_skeleton_use(param) == KL_USE_IN ? "const " : "",
			    real ? "kl_real" : param->type, param->pointer ? "*" : "", param->name);
	}
	kl_buf_adds(&buf, ")");
	return kl_buf_detach(&buf);
}

/* --- writing contract and oracle from the templates -------------------------------- */

/* Make a slug from a name: "conv2d-nhwc" from "Conv2D_nhwc". The result can be invalid. */
static char *slug_of(const char *name)
{
	char *text = kl_strndup(name, 64);

	for (char *ch = text; *ch; ch++)
		*ch = *ch == '_' ? '-' : (char)tolower((unsigned char)*ch);
	return text;
}

/*
 * Find the language by the file's suffix. Return KL_EINVALID if `init` supports no language with
 * this suffix.
 */
static int find_language(const struct kl_language **out, const char *leaf)
{
	KL_AUTO(kl_buf_release) struct kl_buf known = KL_BUF_INIT;

	for (size_t i = 0; kl_languages.row[i]; i++) {
		const struct kl_language *one = kl_languages.row[i];

		if (!one->init)
			continue;
		*out = one;
		if (kl_suffix_in(leaf, one->init->mains) || kl_suffix_in(leaf, one->init->headers))
			return 0;
		kl_buf_addf(&known, "%s%s source (%s)", known.len ? " or " : "", one->title,
			    one->init->mains[0]);
	}
	return kl_error(KL_EINVALID, "'%s' is not a %s", leaf, known.ptr);
}

/* Check that all names are plain, since they are written into YAML and code without quotes. */
static int check_names(const struct kl_language *language, const struct kl_proto *proto,
		       const char *leaf, bool adapted)
{
	if (!strcmp(leaf, language->init->oracle_name))
		return kl_error(KL_EINVALID,
				"'%s' is the name of the oracle's file; rename the kernel's file",
				leaf);
	if (language->init->adapter && !strcmp(leaf, language->init->adapter_name) && adapted)
		return kl_error(KL_EINVALID,
				"'%s' is the name of the adapter's file; rename the kernel's file",
				leaf);
	if (strchr(leaf, '/') || !is_source(language, leaf))
		return kl_error(
			KL_EINVALID,
			"'%s' is not allowed as a file name; use only letters, digits and . _ + -",
			leaf);
	if (!kl_name_is_ident(proto->name))
		return kl_error(KL_EINVALID, "'%s' is not a C identifier of at most 63 bytes",
				proto->name);
	for (size_t i = 0; i < proto->n; i++) {
		const char *name = proto->param[i].name;

		if (!kl_name_is_ident(name))
			return kl_error(
				KL_EINVALID,
				"parameter '%s' of '%s' is not a C identifier of at most 63 bytes",
				name, proto->name);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(proto->param[k].name, name))
				return kl_error(KL_EINVALID,
						"two parameters of '%s' have the name '%s'",
						proto->name, name);
	}
	return 0;
}

static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f)
			*text = '?';
}

static int fill_template(struct kl_buf *out, const char *template, const struct kl_map *values)
{
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_share(&path, template);

	if (!err)
		err = kl_fs_read(&text, path, MAX_TEMPLATE);
	return err < 0 ? err : kl_template_fill(out, text.ptr, values);
}

static void build_values(struct kl_map *map, const struct kl_language *language,
			 const struct kl_proto *proto, const char *leaf,
			 const struct kl_skeleton *sk)
{
	const struct kl_skeleton_build *build = sk->build;

	kl_map_put(map, "SOURCES",
		   build ? kl_strdup(build->sources) : sources_of(language, proto, leaf, sk));
	kl_map_put(map, "BUILD", kl_strdup(build ? build->lines : "  flags: [-O2]\n"));
	kl_map_put(map, "VALUES", kl_strdup(build && build->finite ? "" : "#"));
	kl_map_put(map, "PATHS", kl_strdup(build ? "paths: repository\n" : ""));
	kl_map_put(map, "ORACLE", kl_strdup(build ? build->oracle : sk->oracle_name));
	kl_map_put(
		map, "ADAPTER",
		sk->adapted ?
			kl_asprintf("\n# What calls the kernel, with arguments that it builds of "
				    "those above.\nadapter: %s\n",
				    build ? build->adapter : sk->adapter_name) :
			kl_strdup(""));
}

/*
 * Return the arguments of a launch. A dim of 16 bits becomes TODO, since a plan has no integers of
 * 16 bits.
 */
static char *launch_args(const struct kl_proto *proto)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < proto->n; i++) {
		const struct kl_param *param = &proto->param[i];
		enum kl_skeleton_use use = kl_skeleton_use(param);

		kl_buf_adds(&buf, i ? ", " : "");
		if (use == KL_USE_UNKNOWN || (use == KL_USE_DIM && strstr(param->dtype, "16")))
			kl_buf_adds(&buf, "TODO");
		else if (use == KL_USE_DIM)
			kl_buf_addf(&buf, "{%s: %s}", param->dtype, param->name);
		else
			kl_buf_adds(&buf, param->name);
	}
	return kl_buf_detach(&buf);
}

/* Return the kernel's name in C++ for a line of YAML. */
static char *kernel_name(const struct kl_proto *proto)
{
	KL_AUTO(kl_freep) char *name = kl_proto_full_name(proto);

	return kl_asprintf("%s%s", name,
			   strstr(name, "TODO") ? "    # an instance of the template" : "");
}

static void plan_values(struct kl_map *map, const struct kl_skeleton *sk,
			const struct kl_proto *proto)
{
	kl_map_put(map, "PLAN", kl_strdup(sk->plan_name));
	kl_map_put(map, "ORACLE_PLAN", kl_strdup(sk->oracle_plan_name));
	kl_map_put(map, "KERNEL", kernel_name(proto));
	kl_map_put(map, "GRID", kl_strdup(proto->grid ? proto->grid : "TODO"));
	kl_map_put(map, "BLOCK", kl_strdup(proto->block ? proto->block : "TODO"));
	kl_map_put(map, "SMEM",
		   proto->smem ? kl_asprintf("    smem: %s\n", proto->smem) : kl_strdup(""));
	kl_map_put(map, "LAUNCH_ARGS", launch_args(proto));
}

static int fill_plans(struct kl_skeleton *sk, const struct kl_language *language,
		      const struct kl_map *map)
{
	int err = fill_template(&sk->plan, language->init->plan, map);

	if (!err)
		err = fill_template(&sk->oracle_plan, language->init->oracle_plan, map);
	if (!err)
		kl_todo_find(&sk->plan_todo, sk->plan.ptr);
	return err;
}

static int fill_adapter(struct kl_skeleton *sk, const struct kl_language *language,
			const struct kl_proto *proto, struct kl_map *map)
{
	kl_map_put(map, "PROTOTYPE", kl_strdup(proto->text));
	kl_skeleton_adapter_values(map, proto, sk);
	return fill_template(&sk->adapter, language->init->adapter, map);
}

static int count_unknown(const struct kl_proto *proto)
{
	int n = 0;

	for (size_t i = 0; i < proto->n; i++)
		n += kl_skeleton_use(&proto->param[i]) == KL_USE_UNKNOWN;
	return n;
}

/*
 * If the kernel's file is a header, write a source that includes it, to be compiled in its place.
 */
static void make_unit(struct kl_skeleton *sk, const struct kl_language *language, const char *leaf)
{
	if (!kl_suffix_in(leaf, language->init->headers))
		return;
	sk->unit_name = kl_asprintf("%.*s%s", (int)(strrchr(leaf, '.') - leaf), leaf,
				    language->init->mains[0]);
	kl_buf_addf(&sk->unit, "#include \"%s\"\n", leaf);
}

static void name_files(struct kl_skeleton *sk, const struct kl_language *language,
		       const char *workload, bool further)
{
	const char *dot = further ? "." : "", *oracle = language->init->oracle_name;

	sk->workload = kl_strdup(workload);
	if (!further)
		workload = "";
	sk->contract_name = kl_asprintf("%s%s%s", workload, dot, KL_CONTRACT_FILE);
	sk->oracle_name = kl_asprintf("%s%s%s", workload, dot, oracle);
	if (sk->adapted)
		sk->adapter_name = kl_asprintf("%s%s%s", workload, dot,
					       language->init->adapter_name);
	if (!language->init->plan)
		return;
	sk->plan_name = kl_asprintf("%s%s%s", workload, dot, language->init->plan_name);
	sk->oracle_plan_name = kl_asprintf("%s%s%s", workload, dot,
					   language->init->oracle_plan_name);
}

int kl_skeleton_make(struct kl_skeleton *sk, const char *leaf, const char *text, size_t len,
		     const char *entry, const char *workload, bool further)
{
	const struct kl_language *language = NULL;
	KL_AUTO(kl_proto_freep) struct kl_proto *proto = NULL;
	KL_AUTO(kl_map_release) struct kl_map map = { .free_value = free };
	KL_AUTO(kl_freep) char *slug = NULL;
	int err;

	if (workload && !kl_name_is_slug(workload))
		return kl_error(
			KL_EINVALID,
			"'%s' is not a valid workload name ([a-z0-9][a-z0-9._-]*, up to 64 bytes)",
			workload);
	err = find_language(&language, leaf);
	if (!err)
		err = kl_proto_read(&proto, text, len, entry, language->init->plan);
	if (!err)
		err = check_names(language, proto, leaf, sk->adapted);
	if (!err && sk->adapted && !language->init->adapter)
		err = kl_error(KL_EINVALID, "only a kernel in C can have an adapter");
	if (err < 0)
		return kl_error_in(err, "%s", leaf);
	sk->unknown = count_unknown(proto);
	sk->unknown_type = sk->unknown || (proto->returns && !kl_skeleton_judges(&proto->returned));
	kl_strvec_copy(&sk->headers, &proto->headers);
	slug = slug_of(proto->name);
	if (!workload && !kl_name_is_slug(slug))
		return kl_error(KL_EINVALID,
				"%s: '%s' cannot be made into a workload name; give a name with "
				"--workload <name>",
				leaf, proto->name);
	make_printable(proto->text);
	for (size_t i = 0; i < proto->n; i++)
		make_printable(proto->param[i].type);
	if (proto->returns)
		make_printable(proto->returned.type);
	kl_map_put(&map, "ENTRY", language->alias ? kernel_name(proto) : kl_strdup(proto->name));
	kl_map_put(&map, "LANGUAGE", kl_strdup(language->alias ? language->alias : language->name));
	kl_map_put(&map, "WORKLOAD", kl_strdup(workload ? workload : slug));
	name_files(sk, language, kl_map_get(&map, "WORKLOAD"), further);
	make_unit(sk, language, leaf);
	if (language->init->plan)
		plan_values(&map, sk, proto);
	kl_map_put(&map, "OP", kl_strdup(kl_name_is_slug(slug) ? slug : workload));
	kl_map_put(&map, "PROTOTYPE", kl_strdup(proto->text));
	kl_skeleton_contract_values(&map, language, proto, sk->adapted);
	build_values(&map, language, proto, leaf, sk);
	if ((err = fill_template(&sk->contract, language->init->contract, &map)) < 0)
		return err;
	kl_map_put(&map, "PROTOTYPE", oracle_prototype(language, proto, sk->adapted));
	if ((err = fill_template(&sk->oracle, language->init->oracle, &map)) < 0)
		return err;
	if (language->init->plan && (err = fill_plans(sk, language, &map)) < 0)
		return err;
	if (sk->adapted && (err = fill_adapter(sk, language, proto, &map)) < 0)
		return err;
	kl_todo_find(&sk->todo, sk->contract.ptr);
	sk->prototype = kl_steal(&proto->text);
	return 0;
}

void kl_skeleton_release(struct kl_skeleton *sk)
{
	kl_buf_release(&sk->contract);
	kl_buf_release(&sk->oracle);
	kl_freep(&sk->prototype);
	kl_buf_release(&sk->adapter);
	kl_freep(&sk->adapter_name);
	kl_strvec_release(&sk->headers);
	kl_freep(&sk->contract_name);
	kl_freep(&sk->oracle_name);
	kl_freep(&sk->workload);
	kl_todo_release(&sk->todo);
	kl_todo_release(&sk->plan_todo);
	kl_buf_release(&sk->plan);
	kl_buf_release(&sk->oracle_plan);
	kl_freep(&sk->plan_name);
	kl_freep(&sk->oracle_plan_name);
	kl_buf_release(&sk->unit);
	kl_freep(&sk->unit_name);
}
