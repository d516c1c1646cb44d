/* SPDX-License-Identifier: Apache-2.0 */
#include "text/yaml_write.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

#define WIDTH 100
#define LONG 72 /* bytes; a longer text is folded */

/* --- building trees ---------------------------------------------------------- */

static struct kl_yaml *new_node(enum kl_yaml_kind kind)
{
	struct kl_yaml *node = kl_calloc(1, sizeof(*node));

	node->kind = kind;
	return node;
}

struct kl_yaml *kl_yaml_new_map(void)
{
	return new_node(KL_YAML_MAP);
}

struct kl_yaml *kl_yaml_new_seq(void)
{
	return new_node(KL_YAML_SEQ);
}

struct kl_yaml *kl_yaml_new_text(const char *text)
{
	struct kl_yaml *node = new_node(KL_YAML_SCALAR);

	node->text = kl_strdup(text);
	node->len = strlen(text);
	return node;
}

struct kl_yaml *kl_yaml_new_plain(const char *text)
{
	struct kl_yaml *node = kl_yaml_new_text(text);

	node->plain = 1;
	return node;
}

/*
 * Make room for one more item. The capacity is 4 at first and is doubled whenever the node is full.
 */
static void grow_node(struct kl_yaml *node)
{
	size_t n = node->n ? 2 * node->n : 4;

	if (node->n && (node->n < 4 || (node->n & (node->n - 1))))
		return;
	node->item = kl_realloc(node->item, n, sizeof(*node->item));
	if (node->kind != KL_YAML_MAP)
		return;
	node->key = kl_realloc(node->key, n, sizeof(*node->key));
}

void kl_yaml_put(struct kl_yaml *map, const char *key, struct kl_yaml *value)
{
	grow_node(map);
	map->key[map->n] = kl_strdup(key);
	value->up = map;
	map->item[map->n++] = value;
}

void kl_yaml_push(struct kl_yaml *seq, struct kl_yaml *value)
{
	grow_node(seq);
	value->up = seq;
	seq->item[seq->n++] = value;
}

/* --- choosing the style of a text ------------------------------------------------- */

/*
 * Check whether the text contains a character that must be escaped. These are control characters,
 * characters at which some readers break lines or which change the text direction (U+0085, U+2028
 * to U+202F), a byte order mark (U+FEFF) and characters of four bytes. Other non-ASCII text is
 * written as it is.
 */
static bool needs_escape(const char *text)
{
	for (const unsigned char *bytes = (const unsigned char *)text; *bytes; bytes++) {
		if ((*bytes < 0x20 && *bytes != '\n' && *bytes != '\t') || *bytes == 0x7f)
			return true;
		if (*bytes == 0xc2 && bytes[1] < 0xa0)
			return true;
		if (*bytes == 0xe2 && bytes[1] == 0x80 && bytes[2] >= 0xa8 && bytes[2] <= 0xaf)
			return true;
		if (*bytes == 0xef && (bytes[1] == 0xbb || bytes[1] == 0xbf))
			return true;
		if (*bytes >= 0xf0)
			return true;
	}
	return false;
}

static bool is_reserved(const char *text)
{
	static const char *const words[] = {
		"null", "true", "false", "yes", "no", "on", "off", NULL,
	};

	if (strnlen(text, 6) == 6)
		return false;
	for (size_t i = 0; words[i]; i++)
		if (!strcasecmp(text, words[i]))
			return true;
	return false;
}

/*
 * Return true if no YAML reader takes this text for a number or a date. The text begins with a
 * digit.
 */
static bool is_no_number(const char *text)
{
	if (text[0] == '0' && text[1] && strchr("xXbBoO", text[1]))
		return false;
	for (; *text; text++)
		if (islower((unsigned char)*text) && *text != 'e')
			return true;
	return false;
}

static bool can_be_plain(const char *text, bool flow)
{
	unsigned char ch = (unsigned char)*text;

	if (!isalnum(ch) && ch != '_' && ch != '/' && ch != '(')
		return false;
	if (is_reserved(text) || (isdigit(ch) && !is_no_number(text)))
		return false;
	for (; *text; text++) {
		ch = (unsigned char)*text;
		if (ch >= 0x80 || ch < 0x20)
			return false;
		if (flow ? strchr(",[]{}?:#&*!|>'\"%@` ", ch) != NULL :
			   (ch == ':' && (text[1] == ' ' || !text[1])) ||
				    (ch == ' ' && (text[1] == '#' || !text[1])))
			return false;
	}
	return true;
}

/*
 * Return true if the only white space in the text is single blanks between words, so that the text
 * can be broken into lines at each blank.
 */
static bool can_be_folded(const char *text)
{
	if (isspace((unsigned char)*text))
		return false;
	for (; *text; text++)
		if (isspace((unsigned char)*text) && (*text != ' ' || text[1] == ' ' || !text[1]))
			return false;
	return true;
}

static bool can_be_literal(const char *text, size_t n)
{
	return strchr(text, '\n') && !isspace((unsigned char)text[0]) &&
	       !(n > 1 && text[n - 1] == '\n' && isspace((unsigned char)text[n - 2]));
}

bool kl_yaml_is_plain_item(const char *text)
{
	return can_be_plain(text, true) && !needs_escape(text);
}

enum style { PLAIN, QUOTED, FOLDED, LITERAL };

static enum style style_of(const struct kl_yaml *node, bool flow)
{
	if (node->plain)
		return PLAIN;
	if (needs_escape(node->text))
		return QUOTED;
	if (!flow && can_be_literal(node->text, node->len))
		return LITERAL;
	if (!flow && node->len > LONG && can_be_folded(node->text))
		return FOLDED;
	return node->len <= LONG && can_be_plain(node->text, flow) ? PLAIN : QUOTED;
}

/* --- writing trees -------------------------------------------------------------- */

static void new_line(struct kl_buf *out, int indent)
{
	kl_buf_reserve(out, (size_t)indent + 1);
	out->ptr[out->len++] = '\n';
	memset(out->ptr + out->len, ' ', (size_t)indent);
	out->len += (size_t)indent;
	out->ptr[out->len] = '\0';
}

/* Return the code point of the character at `bytes`, and set *len to its length in bytes. */
static unsigned decode_utf8(const unsigned char *bytes, int *len)
{
	*len = *bytes < 0x80 ? 1 : *bytes < 0xe0 ? 2 : *bytes < 0xf0 ? 3 : 4;
	if (*len == 1)
		return *bytes;
	if (*len == 2)
		return (bytes[0] & 0x1fu) << 6 | (bytes[1] & 0x3fu);
	if (*len == 3)
		return (bytes[0] & 0x0fu) << 12 | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu);
	return (bytes[0] & 0x07u) << 18 | (bytes[1] & 0x3fu) << 12 | (bytes[2] & 0x3fu) << 6 |
	       (bytes[3] & 0x3fu);
}

void kl_yaml_quote(struct kl_buf *out, const char *text)
{
	int n;

	kl_buf_addch(out, '"');
	for (const unsigned char *bytes = (const unsigned char *)text; *bytes; bytes += n) {
		unsigned ch = decode_utf8(bytes, &n);
		char one[5] = { 0 };

		memcpy(one, bytes, n);
		if (ch == '"' || ch == '\\')
			kl_buf_addf(out, "\\%c", (char)ch);
		else if (ch == '\n' || ch == '\t')
			kl_buf_adds(out, ch == '\n' ? "\\n" : "\\t");
		else if (!needs_escape(one))
			kl_buf_add(out, bytes, n);
		else
			kl_buf_addf(out,
				    ch > 0xffff ? "\\U%08X" :
				    ch > 0xff   ? "\\u%04X" :
						  "\\x%02X",
				    ch);
	}
	kl_buf_addch(out, '"');
}

/* Write a text in folded style, with as many words per line as fit. */
static void write_folded(struct kl_buf *out, const char *text, int indent)
{
	int col = 0;

	kl_buf_adds(out, ">-");
	while (*text) {
		int n = (int)strcspn(text, " ");

		if (!col || col + 1 + n > WIDTH) {
			new_line(out, indent);
			col = indent;
		} else {
			kl_buf_addch(out, ' ');
			col++;
		}
		kl_buf_add(out, text, n);
		col += n;
		text += n + (text[n] == ' ');
	}
}

static void write_literal(struct kl_buf *out, const char *text, size_t n, int indent)
{
	bool clip = text[n - 1] == '\n';

	kl_buf_adds(out, clip ? "|" : "|-");
	for (const char *end = text + n - clip; text <= end;) {
		size_t len = strcspn(text, "\n");

		if (len)
			new_line(out, indent);
		else
			kl_buf_addch(out, '\n');
		kl_buf_add(out, text, len);
		text += len + 1;
	}
}

static void write_scalar(struct kl_buf *out, const struct kl_yaml *node, int indent, bool flow)
{
	enum style style = style_of(node, flow);

	if (style == PLAIN)
		kl_buf_add(out, node->text, node->len);
	else if (style == QUOTED)
		kl_yaml_quote(out, node->text);
	else if (style == FOLDED)
		write_folded(out, node->text, indent);
	else
		write_literal(out, node->text, node->len, indent);
}

static void write_key(struct kl_buf *out, const char *key, bool flow)
{
	if (can_be_plain(key, flow))
		kl_buf_adds(out, key);
	else
		kl_yaml_quote(out, key);
	kl_buf_addch(out, ':');
}

static void write_flow(struct kl_buf *out, const struct kl_yaml *node, int indent, int *col)
{
	bool map = node->kind == KL_YAML_MAP;

	kl_buf_addch(out, map ? '{' : '[');
	++*col;
	for (size_t i = 0; i < node->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf item = KL_BUF_INIT;

		if (map) {
			write_key(&item, node->key[i], true);
			kl_buf_addch(&item, ' ');
		}
		if (node->item[i]->kind == KL_YAML_SCALAR) {
			write_scalar(&item, node->item[i], indent, true);
		} else {
			int inner = *col + (int)item.len;

			write_flow(&item, node->item[i], indent, &inner);
		}
		if (i && *col + 2 + (int)item.len > WIDTH) {
			kl_buf_addch(out, ',');
			new_line(out, indent);
			*col = indent;
		} else if (i) {
			kl_buf_adds(out, ", ");
			*col += 2;
		}
		kl_buf_add(out, item.ptr, item.len);
		*col += (int)item.len;
	}
	kl_buf_addch(out, map ? '}' : ']');
	++*col;
}

static void write_block(struct kl_buf *out, const struct kl_yaml *node, int indent);

/* Write a value after "key:" or "-". Further lines of the value are indented by `indent`. */
static void write_value(struct kl_buf *out, const struct kl_yaml *node, int indent, bool in_seq)
{
	const char *line = memrchr(out->ptr, '\n', out->len);
	int col = (int)(out->ptr + out->len - (line ? line + 1 : out->ptr)) + 1;

	if (node->kind == KL_YAML_SCALAR) {
		kl_buf_addch(out, ' ');
		write_scalar(out, node, indent, false);
	} else if (node->flow || !node->n) {
		kl_buf_addch(out, ' ');
		write_flow(out, node, indent, &col);
	} else if (in_seq && node->kind == KL_YAML_MAP) {
		kl_buf_addch(out, ' ');
		write_block(out, node, indent);
	} else {
		new_line(out, indent);
		write_block(out, node, indent);
	}
}

/* Write a map or list in block style. The caller has already indented the first line. */
static void write_block(struct kl_buf *out, const struct kl_yaml *node, int indent)
{
	for (size_t i = 0; i < node->n; i++) {
		if (i)
			new_line(out, indent);
		if (node->kind == KL_YAML_MAP)
			write_key(out, node->key[i], false);
		else
			kl_buf_addch(out, '-');
		write_value(out, node->item[i], indent + 2, node->kind == KL_YAML_SEQ);
	}
}

void kl_yaml_emit(struct kl_buf *out, const struct kl_yaml *node)
{
	if (node->kind == KL_YAML_SCALAR || node->flow || !node->n)
		KL_BUG("only a map or a list can be a document");
	write_block(out, node, 0);
	kl_buf_addch(out, '\n');
}
