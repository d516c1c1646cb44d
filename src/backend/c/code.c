/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/code.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void kl_code_release(struct kl_code *c)
{
	free(c->text);
	free(c->insn);
	free(c->func);
	free(c->order);
	kl_map_release(&c->global);
	*c = (struct kl_code){ 0 };
}

/* ---- functions, from the symbols ---- */

static void add_func(struct kl_code *c, size_t obj, size_t sec, uint64_t start, const char *name)
{
	KL_GROW(c->func, c->nfunc + 1, c->alloc_func);
	c->func[c->nfunc++] = (struct kl_func){
		.name = name, .obj = obj, .sec = sec, .start = start
	};
}

static void add_global(struct kl_code *c, size_t obj, size_t sym)
{
	const struct kl_osym *s = &c->obj[obj]->sym[sym];

	if (s->bind != STB_LOCAL && s->sec >= 0 && !kl_map_get(&c->global, s->name))
		kl_map_put(&c->global, s->name,
			   (void *)(uintptr_t)(((uint64_t)obj << 32 | sym) + 1));
}

static int by_address(const void *a, const void *b)
{
	const struct kl_func *x = a, *y = b;

	if (x->obj != y->obj)
		return x->obj < y->obj ? -1 : 1;
	if (x->sec != y->sec)
		return x->sec < y->sec ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int find_funcs(struct kl_code *c)
{
	size_t kept = 0;

	for (size_t k = 0; k < c->nobj; k++) {
		const struct kl_object *o = c->obj[k];

		/* code before a section's first function symbol belongs to the section */
		for (size_t i = 0; i < o->nsec; i++)
			if (kl_osec_is_code(&o->sec[i]) && o->sec[i].size)
				add_func(c, k, i, 0, o->sec[i].name);
		for (size_t i = 0; i < o->nsym; i++) {
			const struct kl_osym *s = &o->sym[i];

			add_global(c, k, i);
			if (s->type != STT_FUNC || s->sec < 0 || !kl_osec_is_code(&o->sec[s->sec]))
				continue;
			if (s->value >= o->sec[s->sec].size)
				return kl_error(KL_ENO, "function '%s' lies outside its section",
						s->name);
			add_func(c, k, (size_t)s->sec, s->value, s->name);
		}
	}
	if (!c->nfunc)
		return kl_error(KL_ENO, "the object has no code");
	qsort(c->func, c->nfunc, sizeof(*c->func), by_address);
	for (size_t i = 0; i < c->nfunc; i++) {
		struct kl_func *f = &c->func[i];
		struct kl_func *last = kept ? &c->func[kept - 1] : NULL;

		if (last && last->obj == f->obj && last->sec == f->sec && last->start == f->start) {
			if (last->name[0] == '.') /* a real name rather than the section's */
				last->name = f->name;
			continue;
		}
		c->func[kept++] = *f;
	}
	c->nfunc = kept;
	for (size_t i = 0; i < c->nfunc; i++) {
		struct kl_func *f = &c->func[i];
		bool more = i + 1 < c->nfunc && f[1].obj == f->obj && f[1].sec == f->sec;

		f->end = more ? f[1].start : c->obj[f->obj]->sec[f->sec].size;
	}
	return 0;
}

size_t kl_code_func_at(const struct kl_code *c, size_t obj, size_t sec, uint64_t addr)
{
	size_t lo = 0, hi = c->nfunc;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct kl_func *f = &c->func[mid];

		if (f->obj < obj ||
		    (f->obj == obj && (f->sec < sec || (f->sec == sec && f->end <= addr))))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < c->nfunc && c->func[lo].obj == obj && c->func[lo].sec == sec &&
	    c->func[lo].start <= addr)
		return lo;
	return c->nfunc;
}

size_t kl_code_insn_at(const struct kl_code *c, size_t func, uint64_t addr)
{
	const struct kl_func *f = &c->func[func];
	size_t lo = f->first, hi = f->first + f->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->insn[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < f->first + f->n && c->insn[lo].addr == addr ? lo : c->ninsn;
}

/* ---- objdump's text ---- */

struct reader {
	struct kl_code *c;
	size_t obj;    /* of the file header seen last */
	size_t sec;    /* of the section header seen last */
	uint64_t want; /* address of the next instruction */
	bool in_section;
};

static bool is_prefix(const char *w, size_t n)
{
	static const char list[] =
		" rep repz repnz lock notrack bnd data16 data32 addr32 addr16 cs ds es ss fs gs"
		" xacquire xrelease rex rex.W rex.R rex.X rex.B rex.WR rex.WX rex.WB rex.RX rex.RB"
		" rex.XB rex.WRX rex.WRB rex.WXB rex.RXB rex.WRXB {evex} {vex} {vex3} {disp8} {disp32} ";
	char word[32];

	if (!n || n + 3 > sizeof(word))
		return false;
	word[0] = ' ';
	memcpy(word + 1, w, n);
	memcpy(word + 1 + n, " ", 2);
	return strstr(list, word) != NULL;
}

static void split_insn(struct kl_insn *in, char *s)
{
	size_t n;

	for (;;) {
		n = strcspn(s, " \t");
		if (!s[n] || !is_prefix(s, n))
			break;
		in->rep |= !strncmp(s, "rep", 3);
		in->lock |= !strncmp(s, "lock", 4);
		in->seg |= n == 2 && (s[0] == 'f' || s[0] == 'g');
		s += n + strspn(s + n, " \t");
	}
	in->op = s;
	in->args = "";
	if (s[n]) {
		s[n] = '\0';
		in->args = s + n + 1 + strspn(s + n + 1, " \t");
	}
	in->seg |= strstr(in->args, "%fs") || strstr(in->args, "%gs");
}

static int add_insn(struct reader *r, uint64_t addr, char *s)
{
	struct kl_code *c = r->c;
	char *comment;

	if (!r->in_section || addr < r->want || addr > KL_OBJECT_MAX_BYTES)
		return kl_error(KL_ENO, "the disassembly is out of order at %#llx",
				(unsigned long long)addr);
	if (c->ninsn >= KL_CODE_MAX_INSNS)
		return kl_error(KL_ENO, "the object has more than %d instructions",
				KL_CODE_MAX_INSNS);
	comment = strstr(s, " #");
	if (comment)
		*comment = '\0';
	for (size_t n = strlen(s); n && isspace((unsigned char)s[n - 1]); n--)
		s[n - 1] = '\0';
	KL_GROW(c->insn, c->ninsn + 1, c->alloc_insn);
	c->insn[c->ninsn] = (struct kl_insn){ .addr = (uint32_t)addr };
	split_insn(&c->insn[c->ninsn++], s);
	r->want = addr + 1;
	return 0;
}

static int next_object(struct reader *r)
{
	r->obj = r->obj + 1;
	r->sec = 0;
	r->in_section = false;
	if (r->obj >= r->c->nobj)
		return kl_error(KL_ENO, "the disassembly has more files than there are");
	return 0;
}

/* Sections come in the object's order, those with code and bytes alone. */
static int next_section(struct reader *r, const char *name, size_t len)
{
	const struct kl_object *o;

	if (r->obj >= r->c->nobj)
		return kl_error(KL_ENO, "the disassembly has no file");
	o = r->c->obj[r->obj];
	for (r->sec++; r->sec < o->nsec; r->sec++)
		if (kl_osec_is_code(&o->sec[r->sec]) && o->sec[r->sec].size)
			break;
	if (r->sec >= o->nsec || strlen(o->sec[r->sec].name) != len ||
	    strncmp(o->sec[r->sec].name, name, len))
		return kl_error(KL_ENO, "the disassembly has a section out of order: '%.*s'",
				(int)len, name);
	r->in_section = true;
	r->want = 0;
	return 0;
}

/* "  1a:\tmov ..." and the headings between; function labels are known from the symbols. */
static int read_line(struct reader *r, char *s)
{
	static const char disassembly[] = "Disassembly of section ";
	size_t len = strlen(s);
	char *end;
	uint64_t addr;
	size_t before = r->c->ninsn;
	int err;

	if (!len)
		return 0;
	if (!strncmp(s, disassembly, sizeof(disassembly) - 1) && s[len - 1] == ':')
		return next_section(r, s + sizeof(disassembly) - 1, len - sizeof(disassembly));
	if (strstr(s, ":     file format elf64-x86-64"))
		return next_object(r);
	addr = strtoull(s, &end, 16);
	if (end != s && end[0] == ':' && end[1] == '\t') {
		err = add_insn(r, addr, end + 2);
		if (!err && before && r->c->insn[before].addr > r->c->insn[before - 1].addr)
			r->c->insn[before - 1].len = (uint32_t)(addr - r->c->insn[before - 1].addr);
		return err;
	}
	if (end != s && !strncmp(end, " <", 2) && s[len - 1] == ':')
		return 0;
	return kl_error(KL_ENO, "the disassembly has a line that is not understood: %.80s", s);
}

/* Give each function its instructions; every byte of it must be one's. */
static int assign_symbols(struct kl_code *c, const size_t *first_of, const size_t *count)
{
	for (size_t i = 0; i < c->nfunc; i++) {
		struct kl_func *f = &c->func[i];
		size_t at = first_of[i], n = count[i];

		f->first = at;
		f->n = n;
		if (!n || c->insn[at].addr != f->start)
			return kl_error(KL_ENO, "function '%s' does not start at an instruction",
					f->name);
		c->insn[at + n - 1].len = (uint32_t)(f->end - c->insn[at + n - 1].addr);
		for (size_t k = at; k < at + n; k++)
			if (!c->insn[k].len || c->insn[k].len > 15)
				return kl_error(KL_ENO,
						"bytes that are no instruction at %#x of '%s'",
						c->insn[k].addr, f->name);
	}
	return 0;
}

static int parse_lines(struct kl_code *c)
{
	struct reader r = { .c = c, .obj = (size_t)-1 };
	KL_AUTO(kl_freep) size_t *first = kl_calloc(c->nfunc, sizeof(*first));
	KL_AUTO(kl_freep) size_t *count = kl_calloc(c->nfunc, sizeof(*count));
	char *line = c->text, *next;
	int err = 0;

	for (; !err && line; line = next) {
		size_t before = c->ninsn, f;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		err = read_line(&r, line);
		if (err || c->ninsn == before)
			continue;
		f = kl_code_func_at(c, r.obj, r.sec, c->insn[before].addr);
		if (f == c->nfunc)
			return kl_error(KL_ENO, "an instruction outside every function");
		if (!count[f]++)
			first[f] = before;
	}
	return err ? err : assign_symbols(c, first, count);
}

int kl_code_parse(struct kl_code *out, const struct kl_object *const *obj, size_t n,
		  const char *text, size_t len)
{
	KL_AUTO(kl_code_release) struct kl_code c = { .obj = obj, .nobj = n };
	int err;

	if (memchr(text, 0, len))
		return kl_error(KL_ENO, "the disassembly has NUL bytes");
	c.text = kl_strndup(text, len);
	err = find_funcs(&c);
	if (!err)
		err = parse_lines(&c);
	if (err < 0)
		return err;
	*out = c;
	c = (struct kl_code){ 0 };
	return 0;
}

/* ---- kinds of instructions ---- */

bool kl_insn_is_plain_jump(const struct kl_insn *i)
{
	return !strcmp(i->op, "jmp") || !strcmp(i->op, "jmpq");
}

bool kl_insn_is_jump(const struct kl_insn *i)
{
	return i->op[0] == 'j' || !strncmp(i->op, "loop", 4) || !strcmp(i->op, "xbegin");
}

bool kl_insn_is_call(const struct kl_insn *i)
{
	return !strcmp(i->op, "call") || !strcmp(i->op, "callq");
}

bool kl_insn_is_end(const struct kl_insn *i)
{
	return !strncmp(i->op, "ret", 3) || !strncmp(i->op, "ud", 2) || !strcmp(i->op, "hlt");
}

bool kl_insn_is_indirect(const struct kl_insn *i)
{
	return i->args[0] == '*';
}

bool kl_insn_is_nop(const struct kl_insn *i)
{
	return !strncmp(i->op, "nop", 3) || (!strcmp(i->op, "xchg") && !strcmp(i->args, "%ax,%ax"));
}

int kl_insn_width(const struct kl_insn *i)
{
	if (strstr(i->args, "%zmm"))
		return 512;
	if (strstr(i->args, "%ymm"))
		return 256;
	return strstr(i->args, "%xmm") ? 128 : 0;
}
