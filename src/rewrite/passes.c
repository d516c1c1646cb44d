/* SPDX-License-Identifier: Apache-2.0 */
/* passes - rewriter passes: semantic patches and token passes, as passes.yaml lists them */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/cocci.h"
#include "rewrite/rewriter.h"
#include "rewrite/tokenpass.h"
#include "text/yaml.h"

/*
 * passes - mechanical simplifications, listed in passes.yaml beside their
 * semantic patches. What a pass makes of the whole surface is one proposal;
 * when that has been tried, its parts follow, function by function.
 */
#define PASSES_FILE "passes.yaml"
#define MAX_PASS_BYTES (256u << 10)

enum each { EACH_ALL, EACH_SITE, EACH_TILE };

struct pass {
	char *name, *action, *mechanism, *text;
	enum each each;
	const struct kl_tokenpass *token; /* or */
	char *cocci;                      /* text of the semantic patch */
	size_t cocci_len;
	struct kl_strvec languages;
	json_t *traits;
};

struct passes {
	struct pass *p;
	size_t n, alloc;
};

static void passes_release(struct passes *ps)
{
	for (size_t i = 0; i < ps->n; i++) {
		free(ps->p[i].name);
		free(ps->p[i].action);
		free(ps->p[i].mechanism);
		free(ps->p[i].text);
		free(ps->p[i].cocci);
		kl_strvec_release(&ps->p[i].languages);
		json_decref(ps->p[i].traits);
	}
	free(ps->p);
}

/* --- passes.yaml ---------------------------------------------------------- */

static int read_scalar(char **out, const char *file, const struct kl_yaml *map, const char *key)
{
	const struct kl_yaml *v = kl_yaml_get(map, key);

	if (!v || v->kind != KL_YAML_SCALAR)
		return kl_yaml_error(file, v ? v : map,
				     "a pass needs '%s', a word or a line of text", key);
	*out = kl_strdup(v->text);
	return 0;
}

static int load_traits(json_t **out, const char *file, const struct kl_yaml *map)
{
	const struct kl_yaml *v = kl_yaml_get(map, "traits");

	*out = json_object();
	if (!v)
		return 0;
	if (v->kind != KL_YAML_MAP)
		return kl_yaml_error(file, v, "'traits' is a map of trait to yes or no");
	for (size_t i = 0; i < v->n; i++) {
		if (v->item[i]->kind != KL_YAML_SCALAR)
			return kl_yaml_error(file, v->item[i], "a trait is yes or no");
		kl_json_set_str(*out, v->key[i], v->item[i]->text);
	}
	return 0;
}

static int no_language(const char *file, const struct kl_yaml *v)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	const char *name[KL_LANGUAGES_MAX + 1];

	kl_language_names(name, &kl_languages);
	for (size_t i = 0; name[i]; i++)
		kl_buf_addf(&list, "%s%s", !i ? "" : name[i + 1] ? ", " : " or ", name[i]);
	return kl_yaml_error(file, v, "a language of a pass is %s", list.ptr);
}

/* of surfaces in which languages; without a word those in C */
static int load_languages(struct kl_strvec *out, const char *file, const struct kl_yaml *map)
{
	const struct kl_yaml *v = kl_yaml_get(map, "languages");

	if (!v)
		kl_strvec_push(out, kl_language_c.name);
	else if (v->kind != KL_YAML_SEQ)
		return kl_yaml_error(file, v, "'languages' is a list");
	for (size_t i = 0; v && i < v->n; i++) {
		const char *word = v->item[i]->kind == KL_YAML_SCALAR ? v->item[i]->text : "";

		if (!kl_language_find(&kl_languages, word))
			return no_language(file, v->item[i]);
		kl_strvec_push(out, word);
	}
	return 0;
}

static int load_cocci(struct pass *p, const char *dir, const char *file, const struct kl_yaml *map)
{
	KL_AUTO(kl_freep) char *leaf = NULL;
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if ((err = read_scalar(&leaf, file, map, "file")) < 0)
		return err;
	if (!kl_fs_path_ok(leaf))
		return kl_yaml_error(file, map, "'%s' does not lie beside %s", leaf, PASSES_FILE);
	path = kl_fs_join(dir, leaf);
	if ((err = kl_fs_read(&text, path, MAX_PASS_BYTES)) < 0 ||
	    (err = kl_cocci_audit(leaf, text.ptr, text.len)) < 0)
		return err;
	p->cocci_len = text.len;
	p->cocci = kl_buf_detach(&text);
	return 0;
}

static int load_pass(struct pass *p, const char *dir, const char *file, const struct kl_yaml *map)
{
	static const char *const known[] = { "name",      "kind", "file",   "each",     "action",
					     "mechanism", "text", "traits", "languages" };
	const struct kl_yaml *each = kl_yaml_get(map, "each");
	KL_AUTO(kl_freep) char *kind = NULL;
	int err;

	for (size_t i = 0; i < map->n; i++) {
		size_t k = 0;

		while (k < KL_ARRAY_SIZE(known) && strcmp(known[k], map->key[i]))
			k++;
		if (k == KL_ARRAY_SIZE(known))
			return kl_yaml_error(file, map->item[i], "unknown key '%s'", map->key[i]);
	}
	if ((err = read_scalar(&p->name, file, map, "name")) < 0 ||
	    (err = read_scalar(&kind, file, map, "kind")) < 0 ||
	    (err = read_scalar(&p->action, file, map, "action")) < 0 ||
	    (err = read_scalar(&p->mechanism, file, map, "mechanism")) < 0 ||
	    (err = read_scalar(&p->text, file, map, "text")) < 0 ||
	    (err = load_traits(&p->traits, file, map)) < 0 ||
	    (err = load_languages(&p->languages, file, map)) < 0)
		return err;
	if (each && each->kind == KL_YAML_SCALAR && !strcmp(each->text, "site"))
		p->each = EACH_SITE;
	else if (each && each->kind == KL_YAML_SCALAR && !strcmp(each->text, "tile"))
		p->each = EACH_TILE;
	else if (each && (each->kind != KL_YAML_SCALAR || strcmp(each->text, "all")))
		return kl_yaml_error(file, each, "'each' is all, site or tile");
	if (!strcmp(kind, "cocci"))
		return load_cocci(p, dir, file, map);
	if (strcmp(kind, "token"))
		return kl_yaml_error(file, map, "'kind' is cocci or token");
	p->token = kl_tokenpass_find(p->name);
	if (!p->token)
		return kl_yaml_error(file, map, "there is no token pass '%s'", p->name);
	return 0;
}

static int load_file(struct passes *out, const char *dir)
{
	KL_AUTO(kl_freep) char *file = kl_fs_join(dir, PASSES_FILE);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	const struct kl_yaml *list;
	int err;

	if ((err = kl_fs_read(&text, file, MAX_PASS_BYTES)) < 0 ||
	    (err = kl_yaml_parse(&y, file, text.ptr, text.len)) < 0)
		return err;
	list = y->kind == KL_YAML_MAP ? kl_yaml_get(y, "passes") : NULL;
	if (!list || list->kind != KL_YAML_SEQ || y->n != 1)
		return kl_yaml_error(file, y, "the one key of this file is 'passes', a list");
	for (size_t i = 0; i < list->n; i++) {
		if (list->item[i]->kind != KL_YAML_MAP)
			return kl_yaml_error(file, list->item[i], "a pass is a map");
		KL_GROW(out->p, out->n + 1, out->alloc);
		out->p[out->n] = (struct pass){ 0 };
		if ((err = load_pass(&out->p[out->n++], dir, file, list->item[i])) < 0)
			return err;
	}
	return 0;
}

/* the passes of a person's own directory, or the shipped ones */
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

/* --- one pass on one file -------------------------------------------------- */

struct run {
	struct kl_rewrite *rw;
	const struct pass *pass;
	struct kl_claim claim;
};

/* in a semantic patch for one constant: its name, its value, the new one */
struct subst {
	const char *name;
	long from, to;
};

static void substitute_words(struct kl_buf *out, const struct pass *p, const struct subst *s)
{
	size_t pos = 0;

	for (const char *at; (at = strstr(p->cocci + pos, "KL_"));) {
		kl_buf_add(out, p->cocci + pos, at - (p->cocci + pos));
		pos = at - p->cocci;
		if (!strncmp(at, "KL_NAME", 7)) {
			kl_buf_adds(out, s->name);
			pos += 7;
		} else if (!strncmp(at, "KL_FROM", 7)) {
			kl_buf_addf(out, "%ld", s->from);
			pos += 7;
		} else if (!strncmp(at, "KL_TO", 5)) {
			kl_buf_addf(out, "%ld", s->to);
			pos += 5;
		} else {
			kl_buf_addch(out, p->cocci[pos++]);
		}
	}
	kl_buf_adds(out, p->cocci + pos);
}

static bool take_site(const struct kl_cedit *e, void *payload)
{
	return e->site == *(int *)payload;
}

/* site < 0: all sites */
static void run_token(struct kl_buf *out, const struct pass *p, const struct kl_file *f, int site)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens c = { 0 };
	KL_AUTO(kl_cedits_release) struct kl_cedits e = { 0 };

	kl_ctoken_lex(&c, f->data, f->len);
	p->token->find(&e, &c);
	kl_cedits_apply(out, &c, &e, site < 0 ? NULL : take_site, &site);
}

static int count_sites(const struct pass *p, const struct kl_file *f)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens c = { 0 };
	KL_AUTO(kl_cedits_release) struct kl_cedits e = { 0 };

	kl_ctoken_lex(&c, f->data, f->len);
	p->token->find(&e, &c);
	return e.nsite;
}

/* "" when the pass leaves the file as it is */
static int run_cocci(const char **out, struct run *r, const struct kl_file *f,
		     const struct subst *s)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("%s\n%s\n%s\n%ld", r->pass->name, f->path,
						  s ? s->name : "", s ? s->to : 0);
	KL_AUTO(kl_buf_release) struct kl_buf patch = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	bool changed;
	int err;

	if ((*out = kl_map_get(&r->rw->cache, key)))
		return 0;
	if (s)
		substitute_words(&patch, r->pass, s);
	else
		kl_buf_add(&patch, r->pass->cocci, r->pass->cocci_len);
	err = kl_cocci_run(&text, &changed, r->rw->jail, r->pass->name, patch.ptr, patch.len,
			   f->data, f->len);
	if (err < 0)
		return err;
	*out = kl_strndup(text.ptr, text.len);
	kl_map_put(&r->rw->cache, key, (void *)*out);
	return 0;
}

static bool is_source(const struct kl_surface *s, const struct kl_file *f)
{
	return kl_suffix_in(f->path, s->contract->language->texts) &&
	       !memchr(f->data, '\0', f->len);
}

/* --- proposals ------------------------------------------------------------ */

static int propose_all(struct kl_proposal **out, struct run *r)
{
	const struct kl_surface *state = r->rw->state;
	KL_AUTO(kl_freep) struct kl_file *edit = kl_calloc(state->nfile + 1, sizeof(*edit));
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	KL_AUTO(kl_surface_freep) struct kl_surface *whole = NULL;
	size_t n = 0;
	int err;

	for (size_t i = 0; i < state->nfile; i++) {
		const struct kl_file *f = &state->file[i];
		const char *text;

		if (!is_source(state, f))
			continue;
		if (r->pass->token) {
			struct kl_buf b = KL_BUF_INIT;

			run_token(&b, r->pass, f, -1);
			kl_strvec_take(&texts, kl_buf_detach(&b));
			text = texts.v[texts.n - 1];
		} else if ((err = run_cocci(&text, r, f, NULL)) < 0) {
			return err;
		}
		if (!*text || !strcmp(text, f->data))
			continue;
		edit[n] = *f;
		edit[n].data = (char *)text;
		edit[n++].len = strlen(text);
	}
	if (!n || (err = kl_rewrite_offer(out, r->rw, edit, n, &r->claim)) < 0 || *out)
		return n ? err : 0;
	if ((err = kl_surface_with(&whole, state, edit, n)) < 0)
		return err;
	return kl_rewrite_part(out, r->rw, whole, &r->claim);
}

static int propose_sites(struct kl_proposal **out, struct run *r)
{
	const struct kl_surface *state = r->rw->state;

	for (size_t i = 0; i < state->nfile; i++) {
		const struct kl_file *f = &state->file[i];
		bool counts = r->pass->token && is_source(state, f);
		int sites = counts ? count_sites(r->pass, f) : 0;

		for (int s = 0; s < sites; s++) {
			KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
			struct kl_file edit = *f;
			int err;

			run_token(&text, r->pass, f, s);
			edit.data = text.ptr;
			edit.len = text.len;
			err = kl_rewrite_offer(out, r->rw, &edit, 1, &r->claim);
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

/* half the exponent: 256 -> 16, 64 -> 8, 6 -> 2, 2 -> 1 */
static long lower_half(long v)
{
	int bits = 0;

	while (v >> (bits + 1))
		bits++;
	return 1L << bits / 2;
}

static int propose_tile(struct kl_proposal **out, struct run *r, const struct kl_file *f,
			const struct kl_tile *t)
{
	KL_AUTO(kl_freep) char *source = kl_asprintf("%s@%s:%s", r->pass->name, f->path, t->name);
	KL_AUTO(kl_freep) char *where = kl_asprintf("%s:%s", f->path, t->name);
	const long value[] = { lower_half(t->value), t->value / 2 };

	/* one step a constant: a staircase of them would say the same thing again */
	if (accepted_source(r->rw, source))
		return 0;
	for (int i = 0; i < 2; i++) {
		struct subst s = { t->name, t->value, value[i] };
		KL_AUTO(kl_freep) char *what = kl_asprintf("%s: %s from %ld to %ld", r->pass->text,
							   t->name, t->value, value[i]);
		struct kl_claim claim = r->claim;
		struct kl_file edit = *f;
		const char *text;
		int err;

		if (value[i] >= t->value || (i && value[1] == value[0]))
			continue;
		if ((err = run_cocci(&text, r, f, &s)) < 0)
			return err;
		if (!*text)
			continue;
		claim.source = source;
		claim.text = what;
		claim.locus = where;
		edit.data = (char *)text;
		edit.len = strlen(text);
		err = kl_rewrite_offer(out, r->rw, &edit, 1, &claim);
		if (err < 0 || *out)
			return err;
	}
	return 0;
}

static int propose_tiles(struct kl_proposal **out, struct run *r)
{
	const struct kl_surface *state = r->rw->state;

	for (size_t i = 0; i < state->nfile; i++) {
		KL_AUTO(kl_ctokens_release) struct kl_ctokens c = { 0 };
		KL_AUTO(kl_tiles_release) struct kl_tiles tiles = { 0 };
		const struct kl_file *f = &state->file[i];

		if (!is_source(state, f) || r->pass->token)
			continue;
		kl_ctoken_lex(&c, f->data, f->len);
		kl_tokenpass_tiles(&tiles, &c);
		for (size_t t = 0; t < tiles.n; t++) {
			int err = propose_tile(out, r, f, &tiles.t[t]);

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
		const struct pass *p = &ps.p[i];
		struct run r = {
			.rw = rw, .pass = p,
			.claim = {
				.rewriter = "passes", .source = p->name, .action = p->action,
				.mechanism = p->mechanism, .text = p->text,
				.origin = "induced", .traits = p->traits,
			},
		};

		if ((p->cocci && !rw->jail) ||
		    !kl_strvec_has(&p->languages, rw->state->contract->language->name))
			continue;
		err = p->each == EACH_TILE ? propose_tiles(out, &r) :
		      p->each == EACH_SITE ? propose_sites(out, &r) :
					     propose_all(out, &r);
		if (err < 0)
			return kl_error_in(err, "pass '%s'", p->name);
	}
	return 0;
}
