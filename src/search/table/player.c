/* SPDX-License-Identifier: Apache-2.0 */
#include "search/table/player.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "rewrite/reply/envelope.h"
#include "search/policy/draw.h"
#include "search/policy/number.h"
#include "search/table/moves.h"

#define STALE_WEIGHT 0.25 /* a comment in place of an edit is this much as likely as another edit */
#define KNOWN_WEIGHT 3.0  /* of a mechanism that a heeded note names */
#define MOST_TECHNIQUES 100

/* one answer in progress */
struct answering {
	const struct kl_player *player;
	const struct kl_player_about *about;
	const struct kl_table_state *from;
	struct kl_draws draws;
};

static void open_draw(struct kl_rng *rng, const struct answering *answering, const char *what)
{
	KL_AUTO(kl_freep) char *label = kl_asprintf("%s/%zu/%s", answering->about->role,
						    answering->about->turn, what);

	kl_draw_open(rng, &answering->draws, label);
}

static double draw_coin(const struct answering *answering, const char *what)
{
	struct kl_rng rng;

	open_draw(&rng, answering, what);
	return kl_rng_uniform(&rng);
}

/* --- what is shown --------------------------------------------------------------------------- */

static const char *note_text(const json_t *note)
{
	const char *text = kl_json_str_or(note, "text", NULL);

	return text ? text : kl_json_str_or(note, "rule", "");
}

/* Return true if something that is shown tells of a failure of this class. */
static bool shows_class(const struct kl_player_about *about, const char *class_)
{
	for (size_t i = 0; i < about->nshown; i++) {
		const struct kl_player_shown *shown = &about->shown[i];

		if ((shown->class_ && strstr(shown->class_, class_)) ||
		    (shown->note && strstr(note_text(shown->note), class_)))
			return true;
	}
	return false;
}

/* Return true if a note that is shown as `as` (NULL: as anything) names the mechanism. */
static bool shows_name(const struct kl_player_about *about, const char *as, const char *name)
{
	for (size_t i = 0; i < about->nshown; i++)
		if (about->shown[i].note && (!as || !strcmp(about->shown[i].as, as)) &&
		    strstr(note_text(about->shown[i].note), name))
			return true;
	return false;
}

/* --- choosing a move ------------------------------------------------------------------------- */

/* Return the chance of a mistake that leads to a failure of this class. */
static double mistake_chance(const struct answering *answering, double share, const char *class_)
{
	const struct kl_skill *skill = answering->player->skill;

	return share * (answering->about->failed ? skill->repair : 1) *
	       (shows_class(answering->about, class_) ? skill->heed : 1);
}

static double move_weight(const struct answering *answering, const struct kl_move *move)
{
	const struct kl_skill *skill = answering->player->skill;
	const struct kl_ratio *from = &answering->from->root, *to = &move->to->root;
	double gain = from->ppm && to->ppm ? (double)to->ppm / (double)from->ppm : 1;
	double weight = kl_number_exp(kl_number_log(gain) / skill->taste);

	if (move->kind == KL_MOVE_REFUSED || move->kind == KL_MOVE_BROKEN)
		return 0;
	for (int64_t i = 0; i < move->distance; i++)
		weight *= skill->reach;
	if (move->kind == KL_MOVE_STALE)
		weight *= STALE_WEIGHT;
	if (skill->heed < 1 && shows_name(answering->about, NULL, move->by))
		weight *= KNOWN_WEIGHT;
	return weight;
}

/* Draw one of the moves of a kind, all equally likely; NULL: there is none. */
static const struct kl_move *draw_mistake(const struct answering *answering,
					  const struct kl_moves *moves, enum kl_move_kind kind)
{
	KL_AUTO(kl_freep) double *weight = kl_calloc(moves->n + 1, sizeof(*weight));
	struct kl_rng rng;
	size_t n = 0;

	for (size_t i = 0; i < moves->n; i++) {
		weight[i] = moves->v[i].kind == kind;
		n += moves->v[i].kind == kind;
	}
	if (!n)
		return NULL;
	open_draw(&rng, answering, "mistake");
	return &moves->v[kl_draw_weighted(&rng, weight, moves->n)];
}

/* Return true if the plan that is shown, or the technique of the intent, is the move's mechanism. */
static bool is_planned(const struct kl_player_about *about, const struct kl_move *move)
{
	return (about->form && !strcmp(about->form, move->by)) ||
	       shows_name(about, "plan", move->by);
}

static const struct kl_move *draw_move(const struct answering *answering,
				       const struct kl_moves *moves)
{
	KL_AUTO(kl_freep) double *weight = kl_calloc(moves->n + 1, sizeof(*weight));
	bool obeys = draw_coin(answering, "obey") < answering->player->skill->obey;
	double planned = 0;
	struct kl_rng rng;

	for (size_t i = 0; i < moves->n; i++) {
		weight[i] = move_weight(answering, &moves->v[i]);
		if (obeys && is_planned(answering->about, &moves->v[i]))
			planned += weight[i];
	}
	for (size_t i = 0; i < moves->n && planned > 0; i++)
		if (!is_planned(answering->about, &moves->v[i]))
			weight[i] = 0;
	open_draw(&rng, answering, "move");
	return &moves->v[kl_draw_weighted(&rng, weight, moves->n)];
}

/* Draw what becomes of the kernel: a mistake, or a move. NULL: the table knows no move. */
static const struct kl_move *choose_move(const struct answering *answering,
					 const struct kl_moves *moves)
{
	const struct kl_skill *skill = answering->player->skill;
	const struct kl_move *move, *mistake = NULL;
	double right = skill->right;

	if (!moves->n)
		return NULL;
	if (draw_coin(answering, "compiles") <
	    mistake_chance(answering, 1 - skill->compiles, "compile"))
		mistake = draw_mistake(answering, moves, KL_MOVE_BROKEN);
	if (mistake)
		return mistake;
	move = draw_move(answering, moves);
	for (int64_t i = 0; i < move->distance; i++)
		right *= skill->far;
	if (draw_coin(answering, "right") < mistake_chance(answering, 1 - right, "wrong"))
		mistake = draw_mistake(answering, moves, KL_MOVE_REFUSED);
	return mistake ? mistake : move;
}

/* --- edits ----------------------------------------------------------------------------------- */

static void add_file(struct kl_buf *out, const struct kl_file *file)
{
	kl_buf_addf(out, "<file path=\"%s\">\n", file->path);
	kl_buf_add(out, file->data, file->len);
	if (file->len && file->data[file->len - 1] != '\n')
		kl_buf_addch(out, '\n');
	kl_buf_adds(out, "</file>\n");
}

/* Count how often the lines `block` are in the text as whole lines, up to 2. */
static int count_blocks(const char *text, const char *block)
{
	int n = 0;

	for (const char *at = text; n < 2 && (at = strstr(at, block)); at++)
		n += at == text || at[-1] == '\n';
	return n;
}

static char *line_start(char *text, char *at)
{
	while (at > text && at[-1] != '\n')
		at--;
	return at;
}

static const char *line_end(const char *at)
{
	const char *nl = strchr(at, '\n');

	return nl ? nl + 1 : at + strlen(at);
}

/*
 * Append an <edit> of the lines in which both files differ, with as many lines around them as are
 * needed to be found exactly once. Return false if no such block is smaller than the file.
 */
static bool add_edit(struct kl_buf *out, const struct kl_file *old, const struct kl_file *new)
{
	KL_AUTO(kl_freep) char *text = kl_strndup(old->data, old->len);
	struct kl_surface from = { .file = (struct kl_file *)old, .nfile = 1 };
	struct kl_surface to = { .file = (struct kl_file *)new, .nfile = 1 };
	struct kl_table_state change = { 0 };
	size_t start = 0, end;
	bool fits = false;

	if (!old->len || !new->len || old->data[old->len - 1] != '\n' ||
	    new->data[new->len - 1] != '\n')
		return false;
	kl_table_state_diff(&change, &from, &to);
	for (int64_t i = 0; i < change.edit[0].line; i++)
		start = (size_t)(line_end(text + start) - text);
	end = start;
	for (int64_t i = 0; i < change.edit[0].drop; i++)
		end = (size_t)(line_end(text + end) - text);
	kl_table_state_release(&change);
	while (!fits && end - start < old->len / 2) {
		KL_AUTO(kl_freep) char *block = NULL;

		if (start)
			start = (size_t)(line_start(text, text + start - 1) - text);
		end = (size_t)(line_end(text + end) - text);
		block = kl_strndup(text + start, end - start);
		fits = *block && count_blocks(text, block) == 1;
	}
	if (!fits)
		return false;
	kl_buf_addf(out, "<edit path=\"%s\">\n<search>\n", new->path);
	kl_buf_add(out, text + start, end - start);
	kl_buf_adds(out, "</search>\n<replace>\n");
	kl_buf_add(out, new->data + start, new->len - start - (old->len - end));
	kl_buf_adds(out, "</replace>\n</edit>\n");
	return true;
}

void kl_player_step(struct kl_buf *out, const char *action, const char *mechanism, const char *why,
		    const struct kl_surface *from, const struct kl_surface *to)
{
	kl_buf_addf(out,
		    "<step>\naction: %s\nmechanism: %s\nlocus: %s\ntraits: -\nwhy: %s\n</step>\n",
		    action, kl_envelope_slug(mechanism) ? mechanism : "-", to->file[0].path, why);
	for (size_t i = 0; i < to->nfile; i++)
		if (!kl_file_is_same(&from->file[i], &to->file[i]) &&
		    !add_edit(out, &from->file[i], &to->file[i]))
			add_file(out, &to->file[i]);
}

static int write_move(struct kl_buf *out, const struct answering *answering,
		      const struct kl_move *move)
{
	const struct kl_player *player = answering->player;
	KL_AUTO(kl_surface_freep) struct kl_surface *from = NULL, *to = NULL;
	KL_AUTO(kl_freep) char *why = kl_asprintf("%s, which makes %s", move->by, move->to->id);
	int err;

	if ((err = kl_search_table_surface(&from, player->table, answering->from, player->base)) <
		    0 ||
	    (err = kl_search_table_surface(&to, player->table, move->to, player->base)) < 0)
		return err;
	kl_player_step(out, kl_move_name[move->kind], move->by, why, from, to);
	return 0;
}

static int answer_edit(struct kl_buf *out, const struct answering *answering)
{
	struct kl_moves moves = { 0 };
	const struct kl_move *move;
	int err = 0;

	if (draw_coin(answering, "usable") >= answering->player->skill->usable) {
		kl_buf_adds(out, "It can be made faster.\n");
		return 0;
	}
	kl_moves_list(&moves, answering->player->table, answering->from);
	move = choose_move(answering, &moves);
	if (move)
		err = write_move(out, answering, move);
	else
		kl_buf_adds(out, "<nothing-left>there is no other kernel</nothing-left>\n");
	kl_moves_release(&moves);
	return err;
}

/* --- notes ----------------------------------------------------------------------------------- */

/* The rule that follows from a kernel that fails; NULL: none. The caller frees it. */
static char *make_rule(const struct kl_table_state *state)
{
	return state->class_ ?
		       kl_asprintf("You cannot make an edit that ends as %s.", state->class_) :
		       NULL;
}

static void answer_judge(struct kl_buf *out, const struct answering *answering)
{
	KL_AUTO(kl_freep) char *rule = make_rule(answering->from);
	KL_AUTO(json_decrefp) json_t *json = json_object();
	const struct kl_player_about *about = answering->about;
	bool is_known = false;

	for (size_t i = 0; rule && !is_known && i < about->nshown; i++)
		if (about->shown[i].note && !strcmp(note_text(about->shown[i].note), rule)) {
			kl_json_set_int(json, "same", about->shown[i].ticket);
			is_known = true;
		}
	if (rule && !is_known)
		kl_json_set_str(json, "rule", rule);
	kl_json_canonical(out, json);
}

static void answer_matcher(struct kl_buf *out, const struct answering *answering)
{
	KL_AUTO(json_decrefp) json_t *json = json_object();
	KL_AUTO(kl_freep) char *state = kl_asprintf("at-%" PRId64, answering->from->at);

	kl_json_set_str(json, "state", state);
	kl_json_set_int(json, "confidence_ppm", 900000);
	kl_json_set_str(json, "primary", state);
	kl_json_canonical(out, json);
}

/* List as many techniques as are asked for: the mechanisms of moves, then names that lead nowhere. */
static void answer_ranker(struct kl_buf *out, const struct answering *answering)
{
	int64_t most = kl_json_int_or(answering->about->told, "techniques", 4);
	KL_AUTO(json_decrefp) json_t *json = json_object();
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	json_t *rows = json_array();
	struct kl_moves moves = { 0 };

	most = most < 1 || most > MOST_TECHNIQUES ? 4 : most;
	kl_moves_list(&moves, answering->player->table, answering->from);
	for (size_t i = 0; i < moves.n && (int64_t)names.n < most; i++)
		if (moves.v[i].kind <= KL_MOVE_JUMP && moves.v[i].to->at > answering->from->at &&
		    kl_envelope_slug(moves.v[i].by))
			kl_strvec_add_once(&names, moves.v[i].by);
	kl_moves_release(&moves);
	for (int64_t i = (int64_t)names.n; i < most; i++)
		kl_strvec_pushf(&names, "technique-%" PRId64, i + 1);
	for (size_t i = 0; i < names.n; i++) {
		json_t *row = json_object();

		kl_json_set_str(row, "name", names.v[i]);
		kl_json_set_int(row, "relevance_ppm", 900000 / ((int64_t)i + 1));
		kl_json_set_int(row, "saved_ppm", 200000);
		json_array_append_new(rows, row);
	}
	kl_json_set(json, "techniques", rows);
	kl_json_canonical(out, json);
}

/* Name the mechanism of a move, drawn as for an edit. */
static void answer_planner(struct kl_buf *out, const struct answering *answering)
{
	struct kl_moves moves = { 0 };

	kl_moves_list(&moves, answering->player->table, answering->from);
	if (moves.n)
		kl_buf_addf(out, "Change it by %s.\n", draw_move(answering, &moves)->by);
	else
		kl_buf_adds(out, "There is nothing to change.\n");
	kl_moves_release(&moves);
}

static void answer_note(struct kl_buf *out, const struct answering *answering)
{
	const char *role = answering->about->role;
	const struct kl_table_state *from = answering->from;
	KL_AUTO(kl_freep) char *rule = make_rule(from);

	if (!strcmp(role, "judge"))
		answer_judge(out, answering);
	else if (!strcmp(role, "matcher"))
		answer_matcher(out, answering);
	else if (!strcmp(role, "ranker"))
		answer_ranker(out, answering);
	else if (!strcmp(role, "updater"))
		kl_buf_adds(out, "{\"adjust\":[],\"deprecate\":[]}");
	else if (!strcmp(role, "planner"))
		answer_planner(out, answering);
	else if (!strcmp(role, "extractor"))
		kl_buf_adds(out, rule ? rule : "none");
	else
		kl_buf_addf(out, "This is %s, made by %s.\n", from->id, from->by);
}

/* --- answering ------------------------------------------------------------------------------- */

int kl_player_answer(char **text, const struct kl_player *player,
		     const struct kl_player_about *about)
{
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	struct answering answering = {
		.player = player,
		.about = about,
		.from = kl_search_table_find(player->table, about->parent),
		.draws = { .key = about->key, .ticket = about->ticket },
	};
	int err = 0;

	if (!answering.from)
		return kl_error(KL_ECANNOT, "the table of '%s' lacks the kernel to change, %.12s",
				player->table->workload, about->parent);
	if (about->edits)
		err = answer_edit(&out, &answering);
	else
		answer_note(&out, &answering);
	if (err < 0)
		return err;
	*text = kl_buf_detach(&out);
	return 0;
}

int kl_player_called(char **text, const void *about, void *payload)
{
	return kl_player_answer(text, payload, about);
}
