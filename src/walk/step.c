/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/step.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "repo/repo.h"

void kl_step_release(struct kl_step *s)
{
	char **field[] = { &s->action,   &s->mechanism,  &s->locus,    &s->text,
			   &s->origin,   &s->rewriter,   &s->source,   &s->trait,
			   &s->delta,    &s->derivation, &s->attempts, &s->class_,
			   &s->workload, &s->platform,   &s->expert,   &s->termination };

	for (size_t i = 0; i < KL_ARRAY_SIZE(field); i++)
		free(*field[i]);
	*s = (struct kl_step){ 0 };
}

static bool is_set(const char *s)
{
	return s && *s;
}

/* one line without control bytes */
static void add_line(struct kl_buf *out, const char *s)
{
	size_t start = out->len;

	for (; *s; s++) {
		unsigned char c = *s;

		if (c > ' ' && c != 0x7f)
			kl_buf_addch(out, (char)c);
		else if (out->len > start && out->ptr[out->len - 1] != ' ')
			kl_buf_addch(out, ' ');
	}
	while (out->len > start && out->ptr[out->len - 1] == ' ')
		out->ptr[--out->len] = '\0';
}

static void add_trailer(struct kl_buf *out, const char *key, const char *value)
{
	if (!is_set(value))
		return;
	kl_buf_addf(out, "Klineage-%s: ", key);
	add_line(out, value);
	kl_buf_addch(out, '\n');
}

/*
 * Text of others, made harmless: no line may look like the start of a diff, of
 * a mail or of trailers, and no blanks stand where `git am` drops them.
 */
static void add_text(struct kl_buf *out, const char *text)
{
	static const char *const meaning[] = { "---",    "diff ",    "Index: ",  "From ",
					       ">From ", "-- ",      "#",        "From:",
					       "Date:",  "Subject:", "Klineage-" };
	bool blank = false, first = true;
	size_t n;

	for (; *text; text += n + (text[n] == '\n')) {
		KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *raw = NULL;

		n = strcspn(text, "\n");
		raw = kl_strndup(text, n);
		add_line(&line, raw);
		if (!line.len) {
			blank = true;
			continue;
		}
		kl_buf_addch(out, '\n');
		if (blank && !first)
			kl_buf_addch(out, '\n');
		blank = first = false;
		for (size_t i = 0; i < KL_ARRAY_SIZE(meaning); i++)
			if (!strncmp(line.ptr, meaning[i], strlen(meaning[i]))) {
				kl_buf_adds(out, "| ");
				break;
			}
		kl_buf_adds(out, line.ptr);
	}
	if (!first)
		kl_buf_addch(out, '\n');
}

static void add_subject(struct kl_buf *out, const struct kl_step *step)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	const char *action = is_set(step->action) ? step->action : "step";
	const char *what = is_set(step->mechanism) ? step->mechanism : action;

	switch (step->kind) {
	case KL_STEP_ROOT:
		kl_buf_addf(&b, "K_0 of %s", step->workload ? step->workload : "?");
		break;
	case KL_STEP_FORWARD:
		kl_buf_addf(&b, "restore %s", what);
		break;
	case KL_STEP_REJECTED:
		kl_buf_addf(&b, "rejected (%s): %s%s", is_set(step->class_) ? step->class_ : "?",
			    step->forward ? "restore " : "", step->forward ? what : action);
		break;
	case KL_STEP_BACK:
		kl_buf_adds(&b, action);
		break;
	}
	if (is_set(step->locus) && strcmp(step->locus, "-"))
		kl_buf_addf(&b, " in %s", step->locus);
	if (*b.ptr == '[') /* git am would drop it, and decode an encoded word */
		kl_buf_adds(out, "step ");
	for (char *s = b.ptr; (s = strstr(s, "=?"));)
		*s = '-';
	add_line(out, b.ptr);
	kl_buf_addch(out, '\n');
}

void kl_step_message(struct kl_buf *out, const struct kl_step *s)
{
	KL_AUTO(kl_freep) char *number = kl_asprintf("%d", s->number);

	add_subject(out, s);
	if (is_set(s->text))
		add_text(out, s->text);
	kl_buf_addch(out, '\n');
	if (s->kind == KL_STEP_ROOT) {
		add_trailer(out, "Workload", s->workload);
		add_trailer(out, "Platform", s->platform);
		add_trailer(out, "Expert", s->expert);
		add_trailer(out, "Termination", s->termination);
		add_trailer(out, "Direction", "forward");
		add_trailer(out, "Step", "0");
		return;
	}
	add_trailer(out, "Action", s->action);
	add_trailer(out, "Mechanism", s->mechanism);
	add_trailer(out, "Locus", s->locus);
	add_trailer(out, "Direction",
		    s->kind == KL_STEP_FORWARD || s->forward ? "forward" : "back");
	add_trailer(out, "Step", number);
	add_trailer(out, "Class", s->kind == KL_STEP_REJECTED ? s->class_ : NULL);
	add_trailer(out, "Derivation", s->kind == KL_STEP_FORWARD ? s->derivation : NULL);
	add_trailer(out, "Attempts", s->kind == KL_STEP_FORWARD ? s->attempts : NULL);
	add_trailer(out, "Delta", s->kind == KL_STEP_REJECTED ? NULL : s->delta);
	add_trailer(out, "Trait", s->trait);
	add_trailer(out, "Origin", s->origin);
	add_trailer(out, "Rewriter", s->rewriter);
	add_trailer(out, "Source", s->source);
}

/* in one reading: a lineage may have thousands of messages */
static void read_trailers(struct kl_step *s, char **direction, char **number, const char *message)
{
	const struct {
		const char *key;
		char **to;
	} field[] = {
		{ "Klineage-Direction", direction },
		{ "Klineage-Step", number },
		{ "Klineage-Action", &s->action },
		{ "Klineage-Mechanism", &s->mechanism },
		{ "Klineage-Locus", &s->locus },
		{ "Klineage-Origin", &s->origin },
		{ "Klineage-Rewriter", &s->rewriter },
		{ "Klineage-Source", &s->source },
		{ "Klineage-Trait", &s->trait },
		{ "Klineage-Delta", &s->delta },
		{ "Klineage-Derivation", &s->derivation },
		{ "Klineage-Attempts", &s->attempts },
		{ "Klineage-Class", &s->class_ },
		{ "Klineage-Workload", &s->workload },
		{ "Klineage-Platform", &s->platform },
		{ "Klineage-Expert", &s->expert },
		{ "Klineage-Termination", &s->termination },
	};
	const char *key[KL_ARRAY_SIZE(field)];
	char *value[KL_ARRAY_SIZE(field)];

	for (size_t i = 0; i < KL_ARRAY_SIZE(field); i++)
		key[i] = field[i].key;
	kl_trailers_get(value, message, key, KL_ARRAY_SIZE(field));
	for (size_t i = 0; i < KL_ARRAY_SIZE(field); i++)
		*field[i].to = value[i];
}

int kl_step_parse(struct kl_step *out, const char *name, const char *message)
{
	KL_AUTO(kl_step_release) struct kl_step s = { 0 };
	KL_AUTO(kl_freep) char *direction = NULL, *number = NULL;
	char *end;
	long n;

	read_trailers(&s, &direction, &number, message);
	if (!direction || (strcmp(direction, "back") && strcmp(direction, "forward")))
		return kl_error(KL_EINVALID, "%s: no Klineage-Direction of back or forward", name);
	n = number ? strtol(number, &end, 10) : -1;
	if (!number || !*number || *end || n < 0 || n > 1000000)
		return kl_error(KL_EINVALID, "%s: no Klineage-Step that is a number", name);
	s.forward = n && s.class_ && !strcmp(direction, "forward");
	if (!strcmp(direction, "forward") && !s.forward)
		s.kind = n ? KL_STEP_FORWARD : KL_STEP_ROOT;
	else
		s.kind = s.class_ ? KL_STEP_REJECTED : KL_STEP_BACK;
	if (s.kind != KL_STEP_ROOT && !s.action)
		return kl_error(KL_EINVALID, "%s: no Klineage-Action", name);
	s.number = (int)n;
	s.text = kl_trailer_subject(message);
	*out = s;
	s = (struct kl_step){ 0 };
	return 0;
}

static char *member_text(const json_t *j, const char *key)
{
	return kl_strdup(kl_json_str_or(j, key, ""));
}

/* the traits that a record claims to be gone, comma-separated */
static char *traits_of(const json_t *record)
{
	struct kl_buf b = KL_BUF_INIT;
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(record, "traits"), key, value)
		if (json_is_string(value) && !strcmp(json_string_value(value), "no"))
			kl_buf_addf(&b, "%s%s", b.len ? ", " : "", key);
	return kl_buf_detach(&b);
}

void kl_step_from_json(struct kl_step *out, const json_t *j)
{
	*out = (struct kl_step){
		.action = member_text(j, "action"),
		.mechanism = member_text(j, "mechanism"),
		.locus = member_text(j, "locus"),
		.text = member_text(j, "text"),
		.origin = member_text(j, "origin"),
		.rewriter = member_text(j, "rewriter"),
		.source = member_text(j, "source"),
		.delta = member_text(j, "delta"),
		.class_ = member_text(j, "class"),
		.trait = traits_of(j),
	};
}

static void replace_text(char **to, char *value)
{
	free(*to);
	*to = value;
}

void kl_step_from_attempt(struct kl_step *out, const json_t *record, const json_t *attempt)
{
	kl_step_from_json(out, record);
	replace_text(&out->text, member_text(attempt, "text"));
	replace_text(&out->rewriter, member_text(attempt, "rewriter"));
	replace_text(&out->source, member_text(attempt, "source"));
	replace_text(&out->origin, kl_strdup("induced"));
	replace_text(&out->delta, NULL);
	replace_text(&out->class_, NULL);
}

bool kl_slug_ok(const char *s)
{
	size_t n = strlen(s);

	if (!n || n > 64 || !isalnum((unsigned char)*s) || isupper((unsigned char)*s))
		return false;
	for (const char *p = s; *p; p++)
		if (!(islower((unsigned char)*p) || isdigit((unsigned char)*p) ||
		      strchr("._-", *p)))
			return false;
	return !strstr(s, "..") && s[n - 1] != '.' && (n < 5 || strcmp(s + n - 5, ".lock"));
}

bool kl_step_is_oracle_root(const char *message)
{
	KL_AUTO(kl_freep) char *root = kl_trailer_get(message, "Klineage-Root");

	return root && !strcmp(root, "baseline");
}
