/* SPDX-License-Identifier: Apache-2.0 */
/* passes - rewriter passes: proposes the mechanical passes listed in passes.yaml */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/pass/cocci.h"
#include "rewrite/pass/plan_define.h"
#include "rewrite/pass/tokenpass.h"
#include "rewrite/rewriter.h"
#include "text/schema.h"

/*
 * A pass is a token pass, a semantic patch, or one that lowers constants of a launch plan;
 * passes.yaml, in the directory of the semantic patches, lists them. Its key `each` gives the scope
 * of one proposal of a pass: the whole surface or, once that was tried, one function ("all"); one
 * site; or one tile size.
 */
#define PASSES_FILE "passes.yaml"
#define MAX_PASS_BYTES (256u << 10)

enum each { EACH_ALL, EACH_SITE, EACH_TILE };

enum kind { KIND_TOKEN, KIND_COCCI, KIND_PLAN };

struct pass {
	char *name, *file, *action, *mechanism, *text;
	enum kind kind;
	enum each each;
	const struct kl_tokenpass *token; /* KIND_TOKEN, else NULL */
	/* for KIND_COCCI: text of the semantic patch; otherwise NULL */
	char *cocci;
	size_t cocci_len;
	struct kl_strvec languages;
	/* for KIND_PLAN: parts of names of constants; if empty, all constants */
	struct kl_strvec names;
	struct kl_texts traits; /* trait -> "yes" or "no" */
	json_t *claims;         /* `traits` as the claims of a proposal */
};

struct passes {
	struct pass *p;
	size_t n, alloc;
};

/*
 * --- passes.yaml ----------------------------------------------------------
 */

static int check_language(const char *file, const struct kl_yaml *node, const char *key)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	const char *name[2 * KL_LANGUAGES_MAX + 1];
	size_t n = 0;
	const struct kl_language *known = kl_language_find(&kl_languages, node->text);

	if (known && !strcmp(known->name, node->text))
		return 0;
	kl_language_names(name, &kl_languages);
	/* accept a language only by the name that events and cards use, not by an alias */
	for (size_t i = 0; name[i]; i++)
		if (!strcmp(kl_language_find(&kl_languages, name[i])->name, name[i]))
			name[n++] = name[i];
	name[n] = NULL;
	for (size_t i = 0; name[i]; i++)
		kl_buf_addf(&list, "%s%s", !i ? "" : name[i + 1] ? ", " : " or ", name[i]);
	return kl_yaml_error(file, node, "'%s' of a pass must be %s, not '%.40s'", key, list.ptr,
			     node->text);
}

static int check_pass(const void *obj, const char *file, const struct kl_yaml *at)
{
	const struct pass *pass = obj;

	if (pass->kind == KIND_TOKEN)
		return kl_tokenpass_find(pass->name) ?
			       0 :
			       kl_yaml_error(file, at, "unknown token pass '%s'", pass->name);
	if (pass->kind == KIND_PLAN)
		return 0;
	if (!pass->file)
		return kl_yaml_error(file, at, "a pass of kind 'cocci' must have 'file'");
	return kl_fs_path_ok(pass->file) ?
		       0 :
		       kl_yaml_error(file, at,
				     "'%s' must be a path relative to the directory of %s",
				     pass->file, PASSES_FILE);
}

static const char *const kinds[] = { "token", "cocci", "plan", NULL };
static const char *const each_words[] = { "all", "site", "tile", NULL };
static const struct kl_string_type language_type = { "a language", NULL, check_language };

static const struct kl_field pass_fields[] = {
#define AT(m) offsetof(struct pass, m)
	KL_STRING_FIELD("name", KL_KEY | KL_NEEDED, AT(name), &kl_string_line),
	KL_WORD_FIELD("kind", KL_NEEDED, AT(kind), kinds),
	KL_STRING_FIELD("file", 0, AT(file), &kl_string_line),
	KL_WORD_FIELD("each", 0, AT(each), each_words),
	KL_STRING_FIELD("action", KL_NEEDED, AT(action), &kl_string_line),
	KL_STRING_FIELD("mechanism", KL_NEEDED, AT(mechanism), &kl_string_line),
	KL_STRING_FIELD("text", KL_NEEDED, AT(text), &kl_string_line),
	KL_VALUE_FIELD("traits", 0, AT(traits), &kl_texts_value),
	KL_SET_FIELD("languages", 0, AT(languages), &language_type, 1, 0),
	KL_SET_FIELD("names", 0, AT(names), &kl_string_line, 1, 0),
	KL_FIELDS_END
#undef AT
};
static const struct kl_schema pass_schema = {
	"a pass", sizeof(struct pass), pass_fields, check_pass, NULL, NULL,
};

static const struct kl_field file_fields[] = {
	KL_LIST_FIELD("passes", KL_NEEDED, 0, &pass_schema, 0, 0), KL_FIELDS_END
};
static const struct kl_schema file_schema = {
	"the file", sizeof(struct passes), file_fields, NULL, NULL, NULL,
};

static void passes_release(struct passes *passes)
{
	for (size_t i = 0; i < passes->n; i++) {
		free(passes->p[i].cocci);
		json_decref(passes->p[i].claims);
	}
	kl_schema_release(passes, &file_schema);
}

static int load_cocci(struct pass *pass, const char *dir)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, pass->file);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if ((err = kl_fs_read(&text, path, MAX_PASS_BYTES)) < 0 ||
	    (err = kl_cocci_audit(pass->file, text.ptr, text.len)) < 0)
		return err;
	pass->cocci_len = text.len;
	pass->cocci = kl_buf_detach(&text);
	return 0;
}

static int load_file(struct passes *out, const char *dir)
{
	KL_AUTO(kl_freep) char *file = kl_fs_join(dir, PASSES_FILE);
	int err = kl_schema_load(out, &file_schema, file, MAX_PASS_BYTES);

	for (size_t i = 0; !err && i < out->n; i++) {
		struct pass *pass = &out->p[i];

		pass->claims = json_object();
		for (size_t k = 0; k < pass->traits.n; k++)
			kl_json_set_str(pass->claims, pass->traits.v[k].name,
					pass->traits.v[k].text);
		if (!pass->languages.n)
			kl_strvec_push(&pass->languages, kl_language_c.name);
		if (pass->kind == KIND_TOKEN)
			pass->token = kl_tokenpass_find(pass->name);
		else if (pass->kind == KIND_COCCI)
			err = load_cocci(pass, dir);
	}
	return err;
}

/* Load the passes of directory `arg`, or the shipped ones if it is NULL. */
static int load_passes(struct passes *out, const char *arg)
{
	KL_AUTO(kl_freep) char *share = NULL;
	int err;

	if (!arg && (err = kl_fs_share(&share, "templates/passes")) < 0)
		return err;
	return load_file(out, arg ? arg : share);
}

int kl_passes_check(const char *arg)
{
	KL_AUTO(passes_release) struct passes ps = { 0 };

	return load_passes(&ps, arg);
}

/*
 * --- run a pass on a file ---------------------------------------------------
 */

struct run {
	struct kl_rewrite *rw;
	const struct pass *pass;
	struct kl_claim claim;
};

/* Values of KL_NAME, KL_FROM and KL_TO in a semantic patch that changes a constant. */
struct subst {
	const char *name;
	long from, to;
};

static void substitute_words(struct kl_buf *out, const struct pass *pass, const struct subst *subst)
{
	size_t pos = 0;

	for (const char *at; (at = strstr(pass->cocci + pos, "KL_"));) {
		kl_buf_add(out, pass->cocci + pos, at - (pass->cocci + pos));
		pos = at - pass->cocci;
		if (!strncmp(at, "KL_NAME", 7)) {
			kl_buf_adds(out, subst->name);
			pos += 7;
		} else if (!strncmp(at, "KL_FROM", 7)) {
			kl_buf_addf(out, "%ld", subst->from);
			pos += 7;
		} else if (!strncmp(at, "KL_TO", 5)) {
			kl_buf_addf(out, "%ld", subst->to);
			pos += 5;
		} else {
			kl_buf_addch(out, pass->cocci[pos++]);
		}
	}
	kl_buf_adds(out, pass->cocci + pos);
}

static bool take_site(const struct kl_cedit *edit, void *payload)
{
	return edit->site == *(int *)payload;
}

/* Run a token pass at one site, or at all sites if `site` is negative. */
static void run_token(struct kl_buf *out, const struct pass *pass, const struct kl_file *file,
		      int site)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_cedits_release) struct kl_cedits cedits = { 0 };

	kl_ctoken_lex(&tokens, file->data, file->len);
	pass->token->find(&cedits, &tokens);
	kl_cedits_apply(out, &tokens, &cedits, site < 0 ? NULL : take_site, &site);
}

static int count_sites(const struct pass *pass, const struct kl_file *file)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_cedits_release) struct kl_cedits cedits = { 0 };

	kl_ctoken_lex(&tokens, file->data, file->len);
	pass->token->find(&cedits, &tokens);
	return cedits.nsite;
}

/* Run a semantic patch. *out is the new text, borrowed from the cache; "" if nothing changes. */
static int run_cocci(const char **out, struct run *run, const struct kl_file *file,
		     const struct subst *subst)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("%s\n%s\n%s\n%ld", run->pass->name, file->path,
						  subst ? subst->name : "", subst ? subst->to : 0);
	KL_AUTO(kl_buf_release) struct kl_buf patch = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	bool changed;
	int err;

	if ((*out = kl_map_get(&run->rw->cache, key)))
		return 0;
	if (subst)
		substitute_words(&patch, run->pass, subst);
	else
		kl_buf_add(&patch, run->pass->cocci, run->pass->cocci_len);
	err = kl_cocci_run(&text, &changed, run->rw->jail, run->pass->name, patch.ptr, patch.len,
			   file->data, file->len);
	if (err < 0)
		return err;
	*out = kl_strndup(text.ptr, text.len);
	kl_map_put(&run->rw->cache, key, (void *)*out);
	return 0;
}

static bool is_source(const struct kl_surface *surface, const struct kl_file *file)
{
	return kl_suffix_in(file->path, surface->contract->language->texts) &&
	       !memchr(file->data, '\0', file->len);
}

/*
 * --- proposals ------------------------------------------------------------
 */

static int propose_all(struct kl_proposal **out, struct run *run)
{
	const struct kl_surface *state = run->rw->state;
	KL_AUTO(kl_freep) struct kl_file *edit = kl_calloc(state->nfile + 1, sizeof(*edit));
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	KL_AUTO(kl_surface_freep) struct kl_surface *whole = NULL;
	size_t n = 0;
	int err;

	for (size_t i = 0; i < state->nfile; i++) {
		const struct kl_file *file = &state->file[i];
		const char *text;

		if (!is_source(state, file))
			continue;
		if (run->pass->token) {
			struct kl_buf buf = KL_BUF_INIT;

			run_token(&buf, run->pass, file, -1);
			kl_strvec_take(&texts, kl_buf_detach(&buf));
			text = texts.v[texts.n - 1];
		} else if ((err = run_cocci(&text, run, file, NULL)) < 0) {
			return err;
		}
		if (!*text || !strcmp(text, file->data))
			continue;
		edit[n] = *file;
		edit[n].data = (char *)text;
		edit[n++].len = strlen(text);
	}
	if (!n || (err = kl_rewrite_offer(out, run->rw, edit, n, &run->claim)) < 0 || *out)
		return n ? err : 0;
	if ((err = kl_surface_with(&whole, state, edit, n)) < 0)
		return err;
	return kl_rewrite_part(out, run->rw, whole, &run->claim);
}

static int propose_sites(struct kl_proposal **out, struct run *run)
{
	const struct kl_surface *state = run->rw->state;

	for (size_t i = 0; i < state->nfile; i++) {
		const struct kl_file *file = &state->file[i];
		bool counts = run->pass->token && is_source(state, file);
		int sites = counts ? count_sites(run->pass, file) : 0;

		for (int site = 0; site < sites; site++) {
			KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
			struct kl_file edit = *file;
			int err;

			run_token(&text, run->pass, file, site);
			edit.data = text.ptr;
			edit.len = text.len;
			err = kl_rewrite_offer(out, run->rw, &edit, 1, &run->claim);
			if (err < 0 || *out)
				return err;
		}
	}
	return 0;
}

static bool accepted_source(const struct kl_rewrite *rw, const char *source)
{
	size_t i;
	json_t *step;

	json_array_foreach(rw->steps, i, step)
		if (!strcmp(kl_json_str_or(step, "source", ""), source))
			return true;
	return false;
}

/* Round down to a power of two and halve its exponent: 256 -> 16, 64 -> 8, 6 -> 2, 2 -> 1. */
static long lower_half(long size)
{
	int bits = 0;

	while (size >> (bits + 1))
		bits++;
	return 1L << bits / 2;
}

/* Offer file `edit` with one constant changed, as a step of its own kind. */
static int offer_constant(struct kl_proposal **out, struct run *run, const struct kl_file *edit,
			  const char *name, const char *source, long from, long to)
{
	KL_AUTO(kl_freep) char *where = kl_asprintf("%s:%s", edit->path, name);
	KL_AUTO(kl_freep) char *what = kl_asprintf("%s: %s from %ld to %ld", run->pass->text, name,
						   from, to);
	struct kl_claim claim = run->claim;

	claim.source = source;
	claim.text = what;
	claim.locus = where;
	return kl_rewrite_offer(out, run->rw, edit, 1, &claim);
}

static int propose_tile(struct kl_proposal **out, struct run *run, const struct kl_file *file,
			const struct kl_tile *tile)
{
	KL_AUTO(kl_freep) char *source = kl_asprintf("%s@%s:%s", run->pass->name, file->path,
						     tile->name);
	const long value[] = { lower_half(tile->value), tile->value / 2 };

	/* change each constant only once: a second change would be the same simplification */
	if (accepted_source(run->rw, source))
		return 0;
	for (int i = 0; i < 2; i++) {
		struct subst subst = { tile->name, tile->value, value[i] };
		struct kl_file edit = *file;
		const char *text;
		int err;

		if (value[i] >= tile->value || (i && value[1] == value[0]))
			continue;
		if ((err = run_cocci(&text, run, file, &subst)) < 0)
			return err;
		if (!*text)
			continue;
		edit.data = (char *)text;
		edit.len = strlen(text);
		err = offer_constant(out, run, &edit, tile->name, source, tile->value, value[i]);
		if (err < 0 || *out)
			return err;
	}
	return 0;
}

static int propose_tiles(struct kl_proposal **out, struct run *run)
{
	const struct kl_surface *state = run->rw->state;

	for (size_t i = 0; i < state->nfile; i++) {
		KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
		KL_AUTO(kl_tiles_release) struct kl_tiles tiles = { 0 };
		const struct kl_file *file = &state->file[i];

		if (!is_source(state, file) || run->pass->token)
			continue;
		kl_ctoken_lex(&tokens, file->data, file->len);
		kl_tokenpass_tiles(&tiles, &tokens);
		for (size_t k = 0; k < tiles.n; k++) {
			int err = propose_tile(out, run, file, &tiles.t[k]);

			if (err < 0 || *out)
				return err;
		}
	}
	return 0;
}

static bool wants_name(const struct pass *pass, const char *name)
{
	for (size_t i = 0; i < pass->names.n; i++)
		if (strstr(name, pass->names.v[i]))
			return true;
	return !pass->names.n;
}

/* Propose lower values of a constant of the launch plan: first 1, then higher values. */
static int propose_define(struct kl_proposal **out, struct run *run, const struct kl_file *file,
			  const struct kl_plan_define *define)
{
	KL_AUTO(kl_freep) char *source = kl_asprintf("%s@%s:%s", run->pass->name, file->path,
						     define->name);
	const long value[] = { 1, lower_half(define->value), define->value / 2 };

	if (accepted_source(run->rw, source))
		return 0;
	for (size_t i = 0; i < KL_ARRAY_SIZE(value); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		struct kl_file edit = *file;
		int err;

		if (i && value[i] <= value[i - 1])
			continue;
		kl_buf_add(&text, file->data, define->off);
		kl_buf_addf(&text, "%ld", value[i]);
		kl_buf_adds(&text, file->data + define->off + define->len);
		edit.data = text.ptr;
		edit.len = text.len;
		err = offer_constant(out, run, &edit, define->name, source, define->value,
				     value[i]);
		if (err < 0 || *out)
			return err;
	}
	return 0;
}

static int propose_defines(struct kl_proposal **out, struct run *run)
{
	const struct kl_surface *state = run->rw->state;

	for (size_t i = 0; i < state->nfile; i++) {
		KL_AUTO(kl_plan_defines_release) struct kl_plan_defines defines = { 0 };
		const struct kl_file *file = &state->file[i];
		const char *plan = state->contract->launch;

		if (!plan || strcmp(file->path, plan) != 0 || memchr(file->data, '\0', file->len))
			continue;
		kl_plan_defines_find(&defines, file->data, file->len);
		for (size_t k = 0; k < defines.n; k++) {
			int err = wants_name(run->pass, defines.v[k].name) ?
					  propose_define(out, run, file, &defines.v[k]) :
					  0;

			if (err < 0 || *out)
				return err;
		}
	}
	return 0;
}

int kl_passes_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg)
{
	KL_AUTO(passes_release) struct passes ps = { 0 };
	int err;

	if ((err = load_passes(&ps, arg)) < 0)
		return err;
	for (size_t i = 0; i < ps.n && !*out; i++) {
		const struct pass *pass = &ps.p[i];
		struct run run = {
			.rw = rw, .pass = pass,
			.claim = {
				.rewriter = "passes", .source = pass->name, .action = pass->action,
				.mechanism = pass->mechanism, .text = pass->text,
				.origin = "induced", .traits = pass->claims,
			},
		};

		if ((pass->cocci && !rw->jail) ||
		    !kl_strvec_has(&pass->languages, rw->state->contract->language->name))
			continue;
		err = pass->kind == KIND_PLAN ? propose_defines(out, &run) :
		      pass->each == EACH_TILE ? propose_tiles(out, &run) :
		      pass->each == EACH_SITE ? propose_sites(out, &run) :
						propose_all(out, &run);
		if (err < 0)
			return kl_error_in(err, "pass '%s'", pass->name);
	}
	return 0;
}
