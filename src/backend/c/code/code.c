/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/code/code.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void kl_code_release(struct kl_code *code)
{
	free(code->text);
	free(code->insn);
	free(code->func);
	free(code->order);
	kl_symbol_index_release(&code->global);
	*code = (struct kl_code){ 0 };
}

/* ---- finding functions by their symbols ---- */

static void add_func(struct kl_code *code, size_t obj, size_t sec, uint64_t start, const char *name)
{
	KL_GROW(code->func, code->nfunc + 1, code->alloc_func);
	code->func[code->nfunc++] = (struct kl_func){
		.name = name, .obj = obj, .sec = sec, .start = start
	};
}

static int by_address(const void *left, const void *right)
{
	const struct kl_func *func = left, *other = right;

	if (func->obj != other->obj)
		return func->obj < other->obj ? -1 : 1;
	if (func->sec != other->sec)
		return func->sec < other->sec ? -1 : 1;
	if (func->start != other->start)
		return func->start < other->start ? -1 : 1;
	return strcmp(func->name, other->name);
}

static int find_funcs(struct kl_code *code)
{
	size_t kept = 0;

	kl_symbol_index_build(&code->global, code->obj, code->nobj);
	for (size_t k = 0; k < code->nobj; k++) {
		const struct kl_object *object = code->obj[k];

		/* code before the first function symbol is a function with the section's name */
		for (size_t i = 0; i < object->nsec; i++)
			if (kl_osec_is_code(&object->sec[i]) && object->sec[i].size)
				add_func(code, k, i, 0, object->sec[i].name);
		for (size_t i = 0; i < object->nsym; i++) {
			const struct kl_osym *symbol = &object->sym[i];

			if (symbol->type != STT_FUNC || symbol->sec < 0 ||
			    !kl_osec_is_code(&object->sec[symbol->sec]))
				continue;
			if (symbol->value >= object->sec[symbol->sec].size)
				return kl_error(KL_ENO, "function '%s' lies outside its section",
						symbol->name);
			add_func(code, k, (size_t)symbol->sec, symbol->value, symbol->name);
		}
	}
	if (!code->nfunc)
		return kl_error(KL_ENO, "the object has no code");
	qsort(code->func, code->nfunc, sizeof(*code->func), by_address);
	for (size_t i = 0; i < code->nfunc; i++) {
		struct kl_func *func = &code->func[i];
		struct kl_func *last = kept ? &code->func[kept - 1] : NULL;

		if (last && last->obj == func->obj && last->sec == func->sec &&
		    last->start == func->start) {
			/* prefer the name of a symbol to that of the section */
			if (last->name[0] == '.')
				last->name = func->name;
			continue;
		}
		code->func[kept++] = *func;
	}
	code->nfunc = kept;
	for (size_t i = 0; i < code->nfunc; i++) {
		struct kl_func *func = &code->func[i];
		bool more = i + 1 < code->nfunc && func[1].obj == func->obj &&
			    func[1].sec == func->sec;

		func->end = more ? func[1].start : code->obj[func->obj]->sec[func->sec].size;
	}
	return 0;
}

size_t kl_code_func_at(const struct kl_code *code, size_t obj, size_t sec, uint64_t addr)
{
	size_t lo = 0, hi = code->nfunc;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct kl_func *func = &code->func[mid];

		if (func->obj < obj ||
		    (func->obj == obj &&
		     (func->sec < sec || (func->sec == sec && func->end <= addr))))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < code->nfunc && code->func[lo].obj == obj && code->func[lo].sec == sec &&
	    code->func[lo].start <= addr)
		return lo;
	return code->nfunc;
}

size_t kl_code_insn_at(const struct kl_code *code, size_t func, uint64_t addr)
{
	const struct kl_func *fn = &code->func[func];
	size_t lo = fn->first, hi = fn->first + fn->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (code->insn[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < fn->first + fn->n && code->insn[lo].addr == addr ? lo : code->ninsn;
}

/* ---- parsing objdump's text ---- */

struct reader {
	struct kl_code *code;
	size_t obj;    /* index of the object that the last file heading names */
	size_t sec;    /* index of the section that the last section heading names */
	uint64_t want; /* lowest address that the next instruction can have */
	bool in_section;
};

static bool is_prefix(const char *text, size_t n)
{
	static const char list[] =
		" rep repz repnz lock notrack bnd data16 data32 addr32 addr16 cs ds es ss fs gs"
		" xacquire xrelease rex rex.W rex.R rex.X rex.B rex.WR rex.WX rex.WB rex.RX rex.RB"
		" rex.XB rex.WRX rex.WRB rex.WXB rex.RXB rex.WRXB {evex} {vex} {vex3} {disp8} {disp32} ";
	char word[32];

	if (!n || n + 3 > sizeof(word))
		return false;
	word[0] = ' ';
	memcpy(word + 1, text, n);
	memcpy(word + 1 + n, " ", 2);
	return strstr(list, word) != NULL;
}

static void split_insn(struct kl_insn *in, char *text)
{
	size_t n;

	for (;;) {
		n = strcspn(text, " \t");
		if (!text[n] || !is_prefix(text, n))
			break;
		in->rep |= !strncmp(text, "rep", 3);
		in->lock |= !strncmp(text, "lock", 4);
		in->seg |= n == 2 && (text[0] == 'f' || text[0] == 'g');
		text += n + strspn(text + n, " \t");
	}
	in->op = text;
	in->args = "";
	if (text[n]) {
		text[n] = '\0';
		in->args = text + n + 1 + strspn(text + n + 1, " \t");
	}
	in->seg |= strstr(in->args, "%fs") || strstr(in->args, "%gs");
}

static int add_insn(struct reader *reader, uint64_t addr, char *text)
{
	struct kl_code *code = reader->code;
	char *comment;

	if (!reader->in_section || addr < reader->want || addr > KL_OBJECT_MAX_BYTES)
		return kl_error(KL_ENO, "the disassembly is out of order at %#llx",
				(unsigned long long)addr);
	if (code->ninsn >= KL_CODE_MAX_INSNS)
		return kl_error(KL_ENO, "the object has more than %d instructions",
				KL_CODE_MAX_INSNS);
	comment = strstr(text, " #");
	if (comment)
		*comment = '\0';
	for (size_t n = strlen(text); n && isspace((unsigned char)text[n - 1]); n--)
		text[n - 1] = '\0';
	KL_GROW(code->insn, code->ninsn + 1, code->alloc_insn);
	code->insn[code->ninsn] = (struct kl_insn){ .addr = (uint32_t)addr };
	split_insn(&code->insn[code->ninsn++], text);
	reader->want = addr + 1;
	return 0;
}

static int next_object(struct reader *reader)
{
	reader->obj = reader->obj + 1;
	reader->sec = 0;
	reader->in_section = false;
	if (reader->obj >= reader->code->nobj)
		return kl_error(KL_ENO, "the disassembly lists more files than objdump was given");
	return 0;
}

/*
 * Advance to the section that a heading names. objdump lists the sections of code that are not
 * empty, in the order of the object.
 */
static int next_section(struct reader *reader, const char *name, size_t len)
{
	const struct kl_object *object;

	if (reader->obj >= reader->code->nobj)
		return kl_error(KL_ENO, "the disassembly has a section before the first file");
	object = reader->code->obj[reader->obj];
	for (reader->sec++; reader->sec < object->nsec; reader->sec++)
		if (kl_osec_is_code(&object->sec[reader->sec]) && object->sec[reader->sec].size)
			break;
	if (reader->sec >= object->nsec || strlen(object->sec[reader->sec].name) != len ||
	    strncmp(object->sec[reader->sec].name, name, len))
		return kl_error(KL_ENO, "the disassembly has a section out of order: '%.*s'",
				(int)len, name);
	reader->in_section = true;
	reader->want = 0;
	return 0;
}

/*
 * Read an instruction (" 1a:\tmov ...") or a heading. Skip labels of functions, because functions
 * are found by their symbols.
 */
static int read_line(struct reader *reader, char *text)
{
	static const char disassembly[] = "Disassembly of section ";
	size_t len = strlen(text);
	char *end;
	uint64_t addr;
	size_t before = reader->code->ninsn;
	int err;

	if (!len)
		return 0;
	if (!strncmp(text, disassembly, sizeof(disassembly) - 1) && text[len - 1] == ':')
		return next_section(reader, text + sizeof(disassembly) - 1,
				    len - sizeof(disassembly));
	if (strstr(text, ":     file format elf64-x86-64"))
		return next_object(reader);
	addr = strtoull(text, &end, 16);
	if (end != text && end[0] == ':' && end[1] == '\t') {
		err = add_insn(reader, addr, end + 2);
		if (!err && before &&
		    reader->code->insn[before].addr > reader->code->insn[before - 1].addr)
			reader->code->insn[before - 1].len =
				(uint32_t)(addr - reader->code->insn[before - 1].addr);
		return err;
	}
	if (end != text && !strncmp(end, " <", 2) && text[len - 1] == ':')
		return 0;
	return kl_error(KL_ENO, "the disassembly has an unknown line: %.80s", text);
}

/* Assign each function its instructions, and check that they cover all bytes of the function. */
static int assign_insns(struct kl_code *code, const size_t *first_of, const size_t *count)
{
	for (size_t i = 0; i < code->nfunc; i++) {
		struct kl_func *func = &code->func[i];
		size_t at = first_of[i], n = count[i];

		func->first = at;
		func->n = n;
		if (!n || code->insn[at].addr != func->start)
			return kl_error(KL_ENO, "function '%s' does not start at an instruction",
					func->name);
		code->insn[at + n - 1].len = (uint32_t)(func->end - code->insn[at + n - 1].addr);
		for (size_t k = at; k < at + n; k++)
			if (!code->insn[k].len || code->insn[k].len > 15)
				return kl_error(
					KL_ENO,
					"has bytes that are not an instruction at %#x of '%s'",
					code->insn[k].addr, func->name);
	}
	return 0;
}

static int parse_lines(struct kl_code *code)
{
	struct reader reader = { .code = code, .obj = (size_t)-1 };
	KL_AUTO(kl_freep) size_t *first = kl_calloc(code->nfunc, sizeof(*first));
	KL_AUTO(kl_freep) size_t *count = kl_calloc(code->nfunc, sizeof(*count));
	char *line = code->text, *next;
	int err = 0;

	for (; !err && line; line = next) {
		size_t before = code->ninsn, func;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		err = read_line(&reader, line);
		if (err || code->ninsn == before)
			continue;
		func = kl_code_func_at(code, reader.obj, reader.sec, code->insn[before].addr);
		if (func == code->nfunc)
			return kl_error(KL_ENO, "an instruction belongs to no function");
		if (!count[func]++)
			first[func] = before;
	}
	return err ? err : assign_insns(code, first, count);
}

int kl_code_parse(struct kl_code *out, const struct kl_object *const *obj, size_t n,
		  const char *text, size_t len)
{
	KL_AUTO(kl_code_release) struct kl_code code = { .obj = obj, .nobj = n };
	int err;

	if (memchr(text, 0, len))
		return kl_error(KL_ENO, "the disassembly has NUL bytes");
	code.text = kl_strndup(text, len);
	err = find_funcs(&code);
	if (!err)
		err = parse_lines(&code);
	if (err < 0)
		return err;
	*out = code;
	code = (struct kl_code){ 0 };
	return 0;
}

/* ---- classifying instructions ---- */

bool kl_insn_is_plain_jump(const struct kl_insn *insn)
{
	return !strcmp(insn->op, "jmp") || !strcmp(insn->op, "jmpq");
}

bool kl_insn_is_jump(const struct kl_insn *insn)
{
	return insn->op[0] == 'j' || !strncmp(insn->op, "loop", 4) || !strcmp(insn->op, "xbegin");
}

bool kl_insn_is_call(const struct kl_insn *insn)
{
	return !strcmp(insn->op, "call") || !strcmp(insn->op, "callq");
}

bool kl_insn_is_end(const struct kl_insn *insn)
{
	return !strncmp(insn->op, "ret", 3) || !strncmp(insn->op, "ud", 2) ||
	       !strcmp(insn->op, "hlt");
}

bool kl_insn_is_indirect(const struct kl_insn *insn)
{
	return insn->args[0] == '*';
}

bool kl_insn_is_nop(const struct kl_insn *insn)
{
	return !strncmp(insn->op, "nop", 3) ||
	       (!strcmp(insn->op, "xchg") && !strcmp(insn->args, "%ax,%ax"));
}

int kl_insn_width(const struct kl_insn *insn)
{
	if (strstr(insn->args, "%zmm"))
		return 512;
	if (strstr(insn->args, "%ymm"))
		return 256;
	return strstr(insn->args, "%xmm") ? 128 : 0;
}
