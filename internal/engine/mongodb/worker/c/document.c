// SPDX-License-Identifier: GPL-2.0-or-later
#include "document.h"

#include <string.h>

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
uint64_t mix(uint64_t x) {
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

// A compressor sees runs of random bytes and runs of zeros, a line of them in turn.
enum { LINE_BYTES = 128 };

void fill(unsigned char *p, size_t n, uint64_t seed) {
	size_t random = LINE_BYTES * settings.random_percent / 100;
	for (size_t line = 0; line < n; line += LINE_BYTES) {
		size_t length = n - line < LINE_BYTES ? n - line : LINE_BYTES;
		size_t until = length < random ? length : random;
		for (size_t i = 0; i < until; i += 8) {
			uint64_t x = mix(seed += 0x9e3779b97f4a7c15);
			memcpy(p + line + i, &x, until - i < 8 ? until - i : 8);
		}
		memset(p + line + until, 0, length - until);
	}
}

void document_fill(unsigned char *p, uint32_t size, uint64_t key, uint64_t seq) {
	put64(p, seq);
	put64(p + 8, key);
	fill(p + DOCUMENT_BYTES_MIN, size - DOCUMENT_BYTES_MIN, mix(key) + seq);
}

static uint64_t get64(const unsigned char *p) {
	struct body b = {p, 8, false};
	return take64(&b);
}

uint64_t document_seq(const void *p) { return get64(p); }
uint64_t document_key(const void *p) { return get64((const unsigned char *)p + 8); }

int document_edits(const struct write *op, size_t old, unsigned char *buffer, WT_MODIFY *edits) {
	size_t now = document_size(op->document), room = now - DOCUMENT_BYTES_MIN;
	size_t n = op->size < room ? op->size : room;
	if (settings.whole || now < old || old < DOCUMENT_BYTES_MIN || now <= 1024) return 0;
	size_t at, replaced, grown = now - old;
	if (op->kind == PUSH) {
		at = now - n; // n bytes at the end, of which some may replace others
		if (at > old) return 0;
		replaced = old - at;
		grown = 0;
	} else {
		if (n > old - DOCUMENT_BYTES_MIN) return 0;
		at = DOCUMENT_BYTES_MIN + (size_t)(mix(op->seq) % (old - DOCUMENT_BYTES_MIN - n + 1));
		replaced = n;
	}
	if (10 * (n + grown) > now) return 0;
	put64(buffer, op->seq);
	fill(buffer + 8, n + grown, mix(op->key) + op->seq);
	int edit = 0;
	edits[edit++] = (WT_MODIFY){.data = {.data = buffer, .size = 8}, .offset = 0, .size = 8};
	if (n > 0) edits[edit++] = (WT_MODIFY){.data = {.data = buffer + 8, .size = n}, .offset = at, .size = replaced};
	if (grown > 0) edits[edit++] = (WT_MODIFY){.data = {.data = buffer + 8 + n, .size = grown}, .offset = old, .size = 0};
	return edit;
}

void entry_fill(unsigned char *p, uint32_t size, const struct write *op) {
	p[0] = (unsigned char)op->kind;
	put64(p + 1, op->key);
	put64(p + 9, op->seq);
	put32(p + 17, op->size);
	put32(p + 21, op->document);
	fill(p + ENTRY_BYTES, size - ENTRY_BYTES, op->seq);
}

bool entry_read(const void *p, size_t n, struct write *op) {
	struct body b = {p, n, false};
	op->kind = take8(&b);
	op->key = take64(&b);
	op->seq = take64(&b);
	op->size = take32(&b);
	op->document = take32(&b);
	return !b.bad && n >= ENTRY_BYTES && op->kind >= INSERT && op->kind <= PUSH && op->key < KEY_END &&
	       op->size <= DOCUMENT_BYTES_MAX && op->document <= DOCUMENT_BYTES_MAX;
}
