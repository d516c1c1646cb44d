/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/feedback.h"

#include <string.h>

#include "base/utf8.h"
#include "event/judgement.h"
#include "rewrite/prompt.h"

#define MAX_MESSAGE 3600
#define MAX_WORD 160
#define MAX_FACTS 600

struct feedback_class {
	const char *name;
	bool repairs;
	const char *meaning;
};

/* clang-format off */
static const struct feedback_class classes[] = {
	{ "compile", true, "It does not compile." },
	{ "launch", true, "It cannot be launched." },
	{ "hang", true, "It did not end in its time." },
	{ "fault", true, "It crashed, or touched memory that is not its own." },
	{ "wrong-all", true, "The answer is wrong everywhere." },
	{ "wrong-edge", true, "Parts of the answer are right; look at edges, tails and what lies between "
			      "blocks." },
	{ "nondeterministic", true, "The same input gave different answers: a race, or memory that is read "
				    "before it is written." },
	{ "no-change", true, "The machine code is the same as before: the compiler does by itself what was "
			     "taken out, or undoes it. Remove it so that the compiled kernel no longer has "
			     "it; if that cannot be, propose something else." },
	{ "slower", true, "It is right, and slower than what it is to match." },
	{ "compound", false, "It still removes more than one mechanism." },
	{ "cheat", false, "It does what a kernel may not do." },
	{ "inconclusive", false, "The machine could not tell." },
	{ "skipped", false, "A person put it aside." },
};
/* clang-format on */

/* the classes of forward edits; they take precedence over classes of the same name above */
/* clang-format off */
static const struct feedback_class forward[] = {
	{ "no-change", true, "The machine code is the same as before: nothing was put in." },
	{ "not-there", true, "It is right, and what it is to bring is not in it." },
	{ "not-faster", true, "It is right, and not faster than the kernel that it was made from." },
	{ "not-enough", true, "It is right and faster, by less than half of what was reached before." },
};
/* clang-format on */

static const struct feedback_class *find_class(const struct feedback_class *list, size_t n,
					       const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

const char *kl_feedback_key(const char *class_)
{
	return strncmp(class_, "wrong-", 6) ? class_ : "wrong";
}

void kl_feedback_explain(struct kl_buf *out, const struct kl_feedback *feedback)
{
	const char *name = feedback->class_ ? feedback->class_ : "";
	const struct feedback_class *found = NULL;

	if (feedback->forward)
		found = find_class(forward, KL_ARRAY_SIZE(forward), name);
	if (!found)
		found = find_class(classes, KL_ARRAY_SIZE(classes), name);
	if (found)
		kl_buf_adds(out, found->meaning);
	if (feedback->missing && *feedback->missing)
		kl_buf_addf(out, " Missing: %s.", feedback->missing);
}

bool kl_feedback_repairs(const char *class_)
{
	const struct feedback_class *found = find_class(classes, KL_ARRAY_SIZE(classes), class_);

	return found && found->repairs;
}

/*
 * Append untrusted text: cleaned, with its middle left out if it is too long, and with backticks
 * replaced, so that it cannot lengthen the fence.
 */
static void add_bytes(struct kl_buf *out, const char *text, size_t len, size_t max)
{
	size_t from = out->len, head = len, tail = 0;

	if (len > max) {
		head = kl_utf8_cut(text, len, max * 3 / 4);
		tail = max / 4;
	}
	kl_utf8_clean(out, text, head);
	if (tail) {
		kl_buf_addf(out, "\n[... %zu bytes left out ...]\n", len - head - tail);
		kl_utf8_clean(out, text + len - tail, tail);
	}
	for (size_t i = from; i < out->len; i++)
		if (out->ptr[i] == '`')
			out->ptr[i] = '\'';
}

static void add_text(struct kl_buf *out, const char *text, size_t max)
{
	add_bytes(out, text, strlen(text), max);
}

/* --- the first wrong element ---------------------------------------------------- */

static void add_index(struct kl_buf *out, const json_t *index)
{
	size_t i;
	json_t *coordinate;

	kl_buf_addch(out, '[');
	json_array_foreach(index, i, coordinate) {
		if (i >= 8 || !json_is_integer(coordinate))
			break;
		kl_buf_addf(out, "%s%lld", i ? ", " : "",
			    (long long)json_integer_value(coordinate));
	}
	kl_buf_addch(out, ']');
}

static void add_word(struct kl_buf *out, const char *label, const json_t *failure, const char *key)
{
	const char *text = kl_json_str_or(failure, key, "");

	if (!*text)
		return;
	kl_buf_adds(out, label);
	add_text(out, text, MAX_WORD);
}

static void add_failure(struct kl_buf *out, const struct kl_event *event)
{
	const json_t *facts = event ? json_object_get(event->correct, "failure") : NULL;

	if (!json_is_object(facts))
		return;
	kl_buf_adds(out, "first failure: ");
	add_word(out, "", facts, "out");
	if (json_is_array(json_object_get(facts, "index")))
		add_index(out, json_object_get(facts, "index"));
	add_word(out, " got ", facts, "got");
	add_word(out, ", wanted ", facts, "wanted");
	add_word(out, "; at ", facts, "point");
	add_word(out, ", inputs ", facts, "band");
	add_word(out, "; ", facts, "why");
	kl_buf_addch(out, '\n');
}

/* --- facts and times -------------------------------------------------------------- */

static const struct kl_strvec *features_of(const struct kl_event *event)
{
	return event && event->compiled ? &event->facts.features : NULL;
}

/* Append "label: a b c", where a, b and c are the entries of `set` that `without` lacks. */
static void add_minus(struct kl_buf *out, const char *label, const struct kl_strvec *set,
		      const struct kl_strvec *without)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;

	if (!set || !without)
		return;
	for (size_t i = 0; i < set->n; i++)
		if (!kl_strvec_has(without, set->v[i]) && list.len < MAX_FACTS)
			kl_buf_addf(&list, " %s", set->v[i]);
	if (!list.len)
		return;
	kl_buf_addf(out, "%s:", label);
	add_text(out, list.ptr, MAX_FACTS);
	kl_buf_addch(out, '\n');
}

static int64_t time_of(const struct kl_event *event)
{
	return event ? event->profile.ns : 0;
}

static void add_times(struct kl_buf *out, const struct kl_feedback *feedback)
{
	int64_t ns = time_of(feedback->event), goal = time_of(feedback->goal);

	if (ns <= 0)
		return;
	kl_buf_adds(out, "time: ");
	kl_prompt_time(out, ns);
	if (feedback->ns > 0) {
		kl_buf_adds(out, "; the kernel it was made from: ");
		kl_prompt_time(out, feedback->ns);
	}
	if (goal > 0) {
		kl_buf_adds(out, "; to be matched: ");
		kl_prompt_time(out, goal);
	}
	kl_buf_addch(out, '\n');
}

void kl_feedback_write(struct kl_buf *out, const struct kl_feedback *feedback)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	const struct kl_strvec *features = features_of(feedback->event);

	kl_buf_adds(&buf, "class: ");
	add_text(&buf, feedback->class_ ? feedback->class_ : "", MAX_WORD);
	kl_buf_addch(&buf, '\n');
	if (feedback->event && *feedback->event->message) {
		kl_buf_adds(&buf, "message: ");
		add_bytes(&buf, feedback->event->message,
			  kl_judgement_reason(feedback->event->message), MAX_MESSAGE);
		kl_buf_addch(&buf, '\n');
	}
	add_failure(&buf, feedback->event);
	add_minus(&buf, "facts that went", feedback->before, features);
	add_minus(&buf, "facts that came", features, feedback->before);
	add_minus(&buf, "facts of the other that this one lacks", features_of(feedback->goal),
		  features);
	add_times(&buf, feedback);
	kl_prompt_fence(out, "", buf.ptr, buf.len);
}
