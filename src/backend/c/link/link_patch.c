/* SPDX-License-Identifier: Apache-2.0 */
/* link_patch - writes the bytes of an image, with all references of its code and data filled in */
#include <elf.h>
#include <string.h>

#include "backend/c/link/link_parts.h"
#include "base/error.h"

#define TRAP 0xcc /* int3, between functions */
#define NO_OPERATION 0x90

/*
 * What a relocation stores. S: address of the target; A: addend; P: address of the relocation; G:
 * address of a word of the linkage table.
 */
enum form {
	FORM_NONE,
	FORM_ADDRESS,  /* S + A, filled in when the image is mapped */
	FORM_RELATIVE, /* S + A - P */
	FORM_WORD,     /* G + A - P */
	FORM_THREAD,   /* G + A - P; the word contains the distance of S from the thread pointer */
	FORM_TABLE,    /* S + A - table */
};

struct rule {
	uint32_t type;
	enum form form;
	unsigned char bytes; /* number of bytes that the relocation patches */
	/* the instruction can be changed so that it uses no word of the linkage table */
	bool relax;
	bool call; /* the instruction calls a function, which can be an import */
};

static const struct rule *find_rule(uint32_t type)
{
	static const struct rule rules[] = {
		{ R_X86_64_64, FORM_ADDRESS, 8, false, false },
		{ R_X86_64_PC8, FORM_RELATIVE, 1, false, false },
		{ R_X86_64_PC16, FORM_RELATIVE, 2, false, false },
		{ R_X86_64_PC32, FORM_RELATIVE, 4, false, false },
		{ R_X86_64_PC64, FORM_RELATIVE, 8, false, false },
		{ R_X86_64_PLT32, FORM_RELATIVE, 4, false, true },
		{ R_X86_64_GOTPC32, FORM_RELATIVE, 4, false, false },
		{ R_X86_64_GOTPC64, FORM_RELATIVE, 8, false, false },
		{ R_X86_64_GOTOFF64, FORM_TABLE, 8, false, false },
		{ R_X86_64_GOTPCREL, FORM_WORD, 4, false, false },
		{ R_X86_64_GOTPCRELX, FORM_WORD, 4, true, false },
		{ R_X86_64_REX_GOTPCRELX, FORM_WORD, 4, true, false },
		{ R_X86_64_GOTTPOFF, FORM_THREAD, 4, false, false },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rules); i++)
		if (rules[i].type == type)
			return &rules[i];
	return NULL;
}

static bool has_offset(const struct kl_link_target *target)
{
	return target->kind == KL_LINK_PLACE || target->kind == KL_LINK_COMMON ||
	       target->kind == KL_LINK_TABLE;
}

/* -- checking relocations, adding words and stubs ---------------------------------------------- */

static uint32_t add_word(struct kl_linker *linker, size_t obj, size_t sym, bool thread)
{
	uint32_t *number = &linker->object[obj].word[sym];

	if (*number)
		return *number;
	KL_GROW(linker->word, linker->nword + 1, linker->alloc_word);
	linker->word[linker->nword++] = (struct kl_link_word){ .obj = (uint32_t)obj,
							       .sym = (uint32_t)sym,
							       .thread = thread };
	return *number = (uint32_t)linker->nword;
}

static void add_stub(struct kl_linker *linker, size_t obj, size_t sym)
{
	if (linker->object[obj].stub[sym])
		return;
	KL_GROW(linker->stub, linker->nstub + 1, linker->alloc_stub);
	linker->stub[linker->nstub++] = add_word(linker, obj, sym, false) - 1;
	linker->object[obj].stub[sym] = (uint32_t)linker->nstub;
}

/*
 * Return the opcode of the instruction whose operand the relocation patches, if relax_instruction()
 * can change it; otherwise 0.
 */
static unsigned relaxed_opcode(const struct kl_osec *section, const struct kl_orel *rel)
{
	const unsigned char *at = section->data + rel->off;

	if (rel->off < 2 || rel->addend != -4)
		return 0;
	if (at[-2] == 0x8b && (at[-1] & 0xc7) == 0x05) /* mov x@GOTPCREL(%rip), %reg */
		return 0x8b;
	if (at[-2] == 0xff && (at[-1] == 0x15 || at[-1] == 0x25)) /* call, jmp */
		return at[-1];
	return 0;
}

static bool can_relax(const struct kl_linker *linker, size_t obj, const struct rule *rule,
		      const struct kl_orel *rel, const struct kl_link_target *target)
{
	return rule->relax && has_offset(target) &&
	       relaxed_opcode(&linker->object[obj].object->sec[rel->sec], rel);
}

/* Refuse a relocation that code or data of an image cannot have. */
static int check_relocation(const struct kl_linker *linker, size_t obj, const struct kl_orel *rel,
			    const struct rule *rule, const struct kl_link_target *target)
{
	const struct kl_link_object *object = &linker->object[obj];
	const struct kl_osec *section = &object->object->sec[rel->sec];
	int segment = object->sec[rel->sec].segment;

	if (!rule || (rule->form == FORM_THREAD && object->own))
		return kl_link_failed(linker, obj,
				      "section '%.100s' has a relocation of type %u, which is not "
				      "for position-independent code",
				      section->name, rel->type);
	if (segment == KL_LINK_BSS || rel->off > section->size ||
	    section->size - rel->off < rule->bytes)
		return kl_link_failed(linker, obj, "a relocation lies outside section '%.100s'",
				      section->name);
	if (rule->form == FORM_ADDRESS && segment == KL_LINK_TEXT)
		return kl_link_failed(linker, obj,
				      "the code in section '%.100s' contains an absolute address",
				      section->name);
	if ((rule->form == FORM_RELATIVE || rule->form == FORM_TABLE ||
	     rule->form == FORM_THREAD) &&
	    !has_offset(target) && !(rule->call && target->kind == KL_LINK_IMPORT))
		return kl_link_failed(linker, obj,
				      "code refers directly to '%.200s', which is not in the image",
				      object->object->sym[rel->sym].name);
	return 0;
}

int kl_link_need(struct kl_linker *linker, size_t obj, const struct kl_orel *rel,
		 const struct kl_link_target *target)
{
	const struct rule *rule = find_rule(rel->type);
	int err = check_relocation(linker, obj, rel, rule, target);

	if (err < 0)
		return err;
	if (target->kind == KL_LINK_IMPORT && rule->call)
		add_stub(linker, obj, rel->sym);
	if (rule->form == FORM_THREAD)
		add_word(linker, obj, rel->sym, true);
	if (rule->form == FORM_WORD && !can_relax(linker, obj, rule, rel, target))
		add_word(linker, obj, rel->sym, false);
	return 0;
}

/* -- listing the words that the loader fills in ----------------------------------------------- */

static void add_slot(struct kl_image_slot **list, uint64_t *n, size_t *alloc, uint64_t at,
		     int64_t to)
{
	KL_GROW(*list, *n + 1, *alloc);
	(*list)[(*n)++] = (struct kl_image_slot){ .at = at, .to = to };
}

static int add_import_slot(struct kl_linker *linker, uint64_t at, uint64_t import, int64_t add)
{
	struct kl_image *image = &linker->image;

	if (add != (int32_t)add)
		return kl_error(KL_ENO,
				"linking: the offset of a reference to '%.200s' is too large",
				linker->import[import]);
	KL_GROW(linker->slot, image->nimport + 1, linker->alloc_slot);
	linker->slot[image->nimport++] = (struct kl_image_import){ .at = at,
								   .name = (uint32_t)import,
								   .add = (int32_t)add };
	return 0;
}

/*
 * Make the loader store at offset `at` the address of a target plus `add` or, if `thread`, the
 * distance of that address from the thread pointer.
 */
static int fill_address(struct kl_linker *linker, uint64_t at, const struct kl_link_target *target,
			int64_t add, bool thread)
{
	struct kl_image *image = &linker->image;
	int64_t to;

	if (target->kind == KL_LINK_ZERO)
		return 0;
	if (target->kind == KL_LINK_IMPORT)
		return add_import_slot(linker, at, target->value, add);
	to = (int64_t)(kl_link_offset(linker, target) + (uint64_t)add);
	if (thread)
		add_slot(&linker->thread, &image->nthread, &linker->alloc_thread, at, to);
	else
		add_slot(&linker->address, &image->naddress, &linker->alloc_address, at, to);
	return 0;
}

static int fill_table(struct kl_linker *linker)
{
	int err = 0;

	for (size_t i = 0; !err && i < linker->nword; i++) {
		const struct kl_link_word *word = &linker->word[i];

		err = fill_address(linker, linker->table + 8 * i,
				   &linker->object[word->obj].target[word->sym], 0, word->thread);
	}
	return err;
}

static int by_place(const void *left, const void *right)
{
	uint64_t at = *(const uint64_t *)left, other = *(const uint64_t *)right;

	return (at > other) - (at < other);
}

/* Sort the lists of the image, and replace the indices of imports by offsets in `names`. */
static void finish_lists(struct kl_linker *linker, struct kl_buf *names)
{
	struct kl_image *image = &linker->image;
	KL_AUTO(kl_freep) uint32_t *offset = kl_calloc(linker->nimport + 1, sizeof(*offset));

	for (size_t i = 0; i < linker->nimport; i++) {
		offset[i] = (uint32_t)names->len;
		kl_buf_add(names, linker->import[i], strlen(linker->import[i]) + 1);
	}
	for (size_t i = 0; i < image->nimport; i++)
		linker->slot[i].name = offset[linker->slot[i].name];
	if (image->naddress)
		qsort(linker->address, image->naddress, sizeof(*linker->address), by_place);
	if (image->nthread)
		qsort(linker->thread, image->nthread, sizeof(*linker->thread), by_place);
	if (image->nimport)
		qsort(linker->slot, image->nimport, sizeof(*linker->slot), by_place);
	image->address = linker->address;
	image->thread = linker->thread;
	image->import = linker->slot;
}

/* -- writing the bytes of the segments --------------------------------------------------------- */

/* Return a pointer to the byte of a segment that has the given offset in the image. */
static unsigned char *byte_at(const struct kl_linker *linker, int segment, uint64_t offset)
{
	return linker->segment[segment] + (offset - kl_image_offset(&linker->image, segment));
}

/* Copy a section into its segment. `sizes` has the size of each segment in bytes. */
static void copy_section(struct kl_linker *linker, size_t obj, size_t sec, const uint64_t *sizes)
{
	const struct kl_osec *section = &linker->object[obj].object->sec[sec];
	const struct kl_link_section *placed = &linker->object[obj].sec[sec];
	uint64_t begin, size;

	if (!placed->live || placed->segment == KL_LINK_BSS || !section->size)
		return;
	begin = kl_image_offset(&linker->image, placed->segment);
	size = sizes[placed->segment];
	if (placed->at < begin || placed->at - begin > size ||
	    section->size > size - (placed->at - begin))
		KL_BUG("a section is placed outside of its segment");
	memcpy(byte_at(linker, placed->segment, placed->at), section->data, section->size);
}

static void copy_bytes(struct kl_linker *linker)
{
	struct kl_image *image = &linker->image;
	const uint64_t size[] = { image->text, image->rodata, image->data };

	for (size_t i = 0; i < KL_ARRAY_SIZE(size); i++) {
		linker->segment[i] = kl_malloc(size[i] + 1);
		memset(linker->segment[i], i == KL_LINK_TEXT ? TRAP : 0, size[i]);
		image->bytes[i] = linker->segment[i];
	}
	for (size_t k = 0; k < linker->nobject; k++)
		for (size_t i = 0; i < linker->object[k].object->nsec; i++)
			copy_section(linker, k, i, size);
}

/*
 * Replace an instruction that loads an address from the linkage table by one that computes the
 * address. *place is the offset of its operand and is adjusted if the operand moves.
 */
static void relax_instruction(unsigned char *at, unsigned opcode, uint64_t *place)
{
	switch (opcode) {
	case 0x8b: /* mov: load the address by lea */
		at[-2] = 0x8d;
		break;
	case 0x15: /* call: a prefix makes the direct call as long as the indirect one */
		at[-2] = 0x67;
		at[-1] = 0xe8;
		break;
	case 0x25: /* jmp: the direct jump is one byte shorter */
		at[-2] = 0xe9;
		at[3] = NO_OPERATION;
		*place -= 1;
		break;
	}
}

static int store_value(const struct kl_linker *linker, size_t obj, unsigned char *at, int64_t value,
		       unsigned bytes)
{
	int64_t limit = bytes < 8 ? (int64_t)1 << (8 * bytes - 1) : 0;

	if (limit && (value >= limit || value < -limit))
		return kl_link_failed(linker, obj, "the target of a reference is out of range");
	memcpy(at, &value, bytes);
	return 0;
}

static int patch_relocation(struct kl_linker *linker, size_t obj, const struct kl_orel *rel)
{
	const struct kl_link_object *object = &linker->object[obj];
	const struct kl_link_section *section = &object->sec[rel->sec];
	const struct kl_link_target *target = &object->target[rel->sym];
	const struct rule *rule = find_rule(rel->type);
	uint64_t place = section->at + rel->off, value = 0;
	unsigned char *at = byte_at(linker, section->segment, place);
	uint64_t add = (uint64_t)rel->addend;

	if (rule->form == FORM_ADDRESS) {
		memset(at, 0, rule->bytes);
		return fill_address(linker, place, target, rel->addend, false);
	}
	if (can_relax(linker, obj, rule, rel, target)) {
		unsigned opcode = relaxed_opcode(&object->object->sec[rel->sec], rel);

		relax_instruction(at, opcode, &place);
		at -= opcode == 0x25;
		value = kl_link_offset(linker, target) + add - place;
	} else if (rule->form == FORM_WORD || rule->form == FORM_THREAD) {
		value = linker->table + 8 * (uint64_t)(object->word[rel->sym] - 1) + add - place;
	} else if (target->kind == KL_LINK_IMPORT) {
		value = linker->stubs + 8 * (uint64_t)(object->stub[rel->sym] - 1) + add - place;
	} else {
		value = kl_link_offset(linker, target) + add -
			(rule->form == FORM_TABLE ? linker->table : place);
	}
	return store_value(linker, obj, at, (int64_t)value, rule->bytes);
}

static int patch_object(struct kl_linker *linker, size_t obj)
{
	const struct kl_link_object *object = &linker->object[obj];
	int err = 0;

	for (size_t i = 0; !err && i < object->object->nrel; i++) {
		const struct kl_orel *rel = &object->object->rel[i];

		if (object->sec[rel->sec].live && rel->type != R_X86_64_NONE)
			err = patch_relocation(linker, obj, rel);
	}
	return err;
}

/* Write each stub: "jmp *word(%rip)" and two bytes of padding. */
static void write_stubs(struct kl_linker *linker)
{
	for (size_t i = 0; i < linker->nstub; i++) {
		uint64_t place = linker->stubs + 8 * i;
		unsigned char *at = byte_at(linker, KL_LINK_TEXT, place);
		int32_t distance = (int32_t)(linker->table + 8 * linker->stub[i] - (place + 6));

		at[0] = 0xff;
		at[1] = 0x25;
		memcpy(at + 2, &distance, sizeof(distance));
	}
}

int kl_link_patch(struct kl_linker *linker)
{
	int err;

	copy_bytes(linker);
	write_stubs(linker);
	err = fill_table(linker);
	for (size_t k = 0; !err && k < linker->nobject; k++)
		err = patch_object(linker, k);
	if (err < 0)
		return err;
	finish_lists(linker, &linker->names);
	linker->image.names = linker->names.ptr;
	linker->image.nnames = linker->names.len;
	return 0;
}
