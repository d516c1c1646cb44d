/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/step.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/prefix.h"
#include "repo/repo.h"

void kl_step_release(struct kl_step *step)
{
	char **field[] = { &step->action,      &step->mechanism, &step->locus,
			   &step->text,        &step->origin,    &step->rewriter,
			   &step->source,      &step->trait,     &step->delta,
			   &step->derivation,  &step->attempts,  &step->class_,
			   &step->effect,      &step->undoes,    &step->folded,
			   &step->workload,    &step->platform,  &step->expert,
			   &step->termination, &step->claimed,   &step->contradiction,
			   &step->confidence,  &step->subject };

	for (size_t i = 0; i < KL_ARRAY_SIZE(field); i++)
		free(*field[i]);
	*step = (struct kl_step){ 0 };
}

static bool is_set(const char *text)
{
	return text && *text;
}

/* Append `text` as one line; each run of blanks and control bytes becomes one space. */
static void add_line(struct kl_buf *out, const char *text)
{
	size_t start = out->len;

	for (; *text; text++) {
		unsigned char ch = *text;

		if (ch > ' ' && ch != 0x7f)
			kl_buf_addch(out, (char)ch);
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
 * Append untrusted text. Put "| " before lines that look like the start of a diff, a mail or a
 * trailer. Leave out blanks and empty lines that `git am` would drop.
 */
static void add_text(struct kl_buf *out, const char *text)
{
	static const char *const special[] = { "---",    "diff ",    "Index: ",  "From ",
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
		for (size_t i = 0; i < KL_ARRAY_SIZE(special); i++)
			if (kl_prefix_has(line.ptr, special[i])) {
				kl_buf_adds(out, "| ");
				break;
			}
		kl_buf_adds(out, line.ptr);
	}
	if (!first)
		kl_buf_addch(out, '\n');
}

/* Write the subject of the step's commit from the kind, mechanism and locus of the step. */
static void describe_step(struct kl_buf *out, const struct kl_step *step)
{
	const char *action = is_set(step->action) ? step->action : "step";
	const char *what = is_set(step->mechanism) ? step->mechanism : action;

	switch (step->kind) {
	case KL_STEP_ROOT:
		kl_buf_addf(out, "K_0 of %s", step->workload ? step->workload : "?");
		break;
	case KL_STEP_FORWARD:
		kl_buf_addf(out, "restore %s", what);
		break;
	case KL_STEP_REJECTED:
		kl_buf_addf(out, "rejected (%s): %s%s", is_set(step->class_) ? step->class_ : "?",
			    step->forward ? "restore " : "", step->forward ? what : action);
		break;
	case KL_STEP_BACK:
		kl_buf_adds(out, action);
		break;
	}
	if (is_set(step->locus) && strcmp(step->locus, "-"))
		kl_buf_addf(out, " in %s", step->locus);
}

static void add_subject(struct kl_buf *out, const struct kl_step *step)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	if (is_set(step->subject))
		kl_buf_adds(&buf, step->subject);
	else
		describe_step(&buf, step);
	/* git am would drop a "[...]" prefix and decode "=?...?=" */
	if (*buf.ptr == '[')
		kl_buf_adds(out, "step ");
	for (char *text = buf.ptr; (text = strstr(text, "=?"));)
		*text = '-';
	add_line(out, buf.ptr);
	kl_buf_addch(out, '\n');
}

void kl_step_message(struct kl_buf *out, const struct kl_step *step)
{
	KL_AUTO(kl_freep) char *number = kl_asprintf("%d", step->number);

	add_subject(out, step);
	if (is_set(step->text))
		add_text(out, step->text);
	kl_buf_addch(out, '\n');
	if (step->kind == KL_STEP_ROOT) {
		add_trailer(out, "Workload", step->workload);
		add_trailer(out, "Platform", step->platform);
		add_trailer(out, "Expert", step->expert);
		add_trailer(out, "Termination", step->termination);
		add_trailer(out, "Direction", "forward");
		add_trailer(out, "Step", "0");
		return;
	}
	add_trailer(out, "Action", step->action);
	add_trailer(out, "Mechanism", step->mechanism);
	add_trailer(out, "Locus", step->locus);
	add_trailer(out, "Direction",
		    step->kind == KL_STEP_FORWARD || step->forward ? "forward" : "back");
	add_trailer(out, "Step", number);
	add_trailer(out, "Class", step->kind == KL_STEP_REJECTED ? step->class_ : NULL);
	add_trailer(out, "Derivation", step->kind == KL_STEP_FORWARD ? step->derivation : NULL);
	add_trailer(out, "Attempts", step->kind == KL_STEP_FORWARD ? step->attempts : NULL);
	if (step->kind != KL_STEP_REJECTED) {
		add_trailer(out, "Delta", step->delta);
		add_trailer(out, "Confidence", step->confidence);
		add_trailer(out, "Claimed", step->claimed);
		add_trailer(out, "Contradiction", step->contradiction);
	}
	add_trailer(out, "Effect", step->effect);
	add_trailer(out, "Trait", step->trait);
	add_trailer(out, "Origin", step->origin);
	add_trailer(out, "Rewriter", step->rewriter);
	add_trailer(out, "Source", step->source);
	add_trailer(out, "Undoes", step->undoes);
	add_trailer(out, "Folded", step->folded);
}

/* Read all trailers in one pass, because a lineage can have thousands of messages. */
static void read_trailers(struct kl_step *step, char **direction, char **number,
			  const char *message)
{
	const struct {
		const char *key;
		char **to;
	} field[] = {
		{ "Klineage-Direction", direction },
		{ "Klineage-Step", number },
		{ "Klineage-Action", &step->action },
		{ "Klineage-Mechanism", &step->mechanism },
		{ "Klineage-Locus", &step->locus },
		{ "Klineage-Origin", &step->origin },
		{ "Klineage-Rewriter", &step->rewriter },
		{ "Klineage-Source", &step->source },
		{ "Klineage-Trait", &step->trait },
		{ "Klineage-Delta", &step->delta },
		{ "Klineage-Confidence", &step->confidence },
		{ "Klineage-Claimed", &step->claimed },
		{ "Klineage-Contradiction", &step->contradiction },
		{ "Klineage-Derivation", &step->derivation },
		{ "Klineage-Attempts", &step->attempts },
		{ "Klineage-Class", &step->class_ },
		{ "Klineage-Effect", &step->effect },
		{ "Klineage-Undoes", &step->undoes },
		{ "Klineage-Folded", &step->folded },
		{ "Klineage-Workload", &step->workload },
		{ "Klineage-Platform", &step->platform },
		{ "Klineage-Expert", &step->expert },
		{ "Klineage-Termination", &step->termination },
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
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	KL_AUTO(kl_freep) char *direction = NULL, *number = NULL;
	char *end;
	long n;

	read_trailers(&step, &direction, &number, message);
	if (!direction || (strcmp(direction, "back") && strcmp(direction, "forward")))
		return kl_error(KL_EINVALID, "%s: Klineage-Direction must be 'back' or 'forward'",
				name);
	n = number ? strtol(number, &end, 10) : -1;
	if (!number || !*number || *end || n < 0 || n > 1000000)
		return kl_error(KL_EINVALID, "%s: Klineage-Step must be a number from 0 to 1000000",
				name);
	step.forward = n && step.class_ && !strcmp(direction, "forward");
	if (!strcmp(direction, "forward") && !step.forward)
		step.kind = n ? KL_STEP_FORWARD : KL_STEP_ROOT;
	else
		step.kind = step.class_ ? KL_STEP_REJECTED : KL_STEP_BACK;
	if (step.kind != KL_STEP_ROOT && !step.action)
		return kl_error(KL_EINVALID, "%s: no Klineage-Action", name);
	step.number = (int)n;
	step.text = kl_trailer_subject(message);
	*out = step;
	step = (struct kl_step){ 0 };
	return 0;
}

static char *member_text(const json_t *value, const char *key)
{
	return kl_strdup(kl_json_str_or(value, key, ""));
}

/*
 * Return the traits that a record claims to be removed, separated by commas; the caller frees the
 * text.
 */
static char *claimed_traits(const json_t *record)
{
	struct kl_buf buf = KL_BUF_INIT;
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(record, "traits"), key, value)
		if (json_is_string(value) && !strcmp(json_string_value(value), "no"))
			kl_buf_addf(&buf, "%s%s", buf.len ? ", " : "", key);
	return kl_buf_detach(&buf);
}

/*
 * Return the commits that a step of `history` undoes: "<commit>", or "<restored commit>..<newest
 * commit>" if there are several. Return NULL if the record names no commits. The caller frees the
 * text.
 */
static char *undone_commits(const json_t *record)
{
	const json_t *commits = json_object_get(record, "commits");
	const char *newest = json_string_value(json_array_get(commits, 0));

	if (!newest)
		return NULL;
	return json_array_size(commits) == 1 ?
		       kl_strdup(newest) :
		       kl_asprintf("%s..%s", kl_json_str_or(record, "source", ""), newest);
}

static char *folded_commits(const json_t *record)
{
	struct kl_buf buf = KL_BUF_INIT;
	size_t i;
	json_t *commit;

	json_array_foreach(json_object_get(record, "folded"), i, commit)
		if (json_is_string(commit))
			kl_buf_addf(&buf, "%s%s", buf.len ? ", " : "", json_string_value(commit));
	return kl_buf_detach(&buf);
}

void kl_step_from_json(struct kl_step *out, const json_t *record)
{
	*out = (struct kl_step){
		.action = member_text(record, "action"),
		.mechanism = member_text(record, "mechanism"),
		.locus = member_text(record, "locus"),
		.text = member_text(record, "text"),
		.origin = member_text(record, "origin"),
		.rewriter = member_text(record, "rewriter"),
		.source = member_text(record, "source"),
		.delta = member_text(record, "delta"),
		.confidence = member_text(record, "confidence"),
		.claimed = member_text(record, "claimed"),
		.contradiction = member_text(record, "contradiction"),
		.class_ = member_text(record, "class"),
		.effect = member_text(record, "effect"),
		.undoes = undone_commits(record),
		.folded = folded_commits(record),
		.trait = claimed_traits(record),
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
	replace_text(&out->claimed, NULL);
	replace_text(&out->confidence, NULL);
	replace_text(&out->contradiction, NULL);
	replace_text(&out->class_, NULL);
	replace_text(&out->effect, NULL);
	replace_text(&out->undoes, NULL);
	replace_text(&out->folded, NULL);
}

bool kl_slug_ok(const char *text)
{
	size_t n = strlen(text);

	if (!n || n > 64 || !isalnum((unsigned char)*text) || isupper((unsigned char)*text))
		return false;
	for (const char *at = text; *at; at++)
		if (!(islower((unsigned char)*at) || isdigit((unsigned char)*at) ||
		      strchr("._-", *at)))
			return false;
	return !strstr(text, "..") && text[n - 1] != '.' &&
	       (n < 5 || strcmp(text + n - 5, ".lock"));
}

bool kl_step_is_oracle_root(const char *message)
{
	KL_AUTO(kl_freep) char *root = kl_trailer_get(message, "Klineage-Root");

	return root && !strcmp(root, "baseline");
}
