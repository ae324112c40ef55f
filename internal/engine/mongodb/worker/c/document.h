// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a document and an oplog entry consist of.
#ifndef DOCUMENT_H
#define DOCUMENT_H

#include "store.h"

// mix is a permutation of 64 bits in which each depends on all.
uint64_t mix(uint64_t x);

// fill writes n bytes that follow from a seed, as many of them random as the settings say.
void fill(unsigned char *p, size_t n, uint64_t seed);

// document_size is what a document takes that is asked to be so large.
static inline uint32_t document_size(uint32_t asked) { return asked < DOCUMENT_BYTES_MIN ? DOCUMENT_BYTES_MIN : asked; }

// document_fill writes a whole document of document_size bytes.
void document_fill(unsigned char *p, uint32_t size, uint64_t key, uint64_t seq);
uint64_t document_seq(const void *p);
uint64_t document_key(const void *p);

enum { EDITS_MAX = 3 };

// document_edits gives the changes that make a document of old bytes into what a write leaves, with their
// data in buffer (of document_size(op->document) + 8 bytes), and how many; 0 if the document has to be written whole,
// as mongod decides: that is, unless it is over 1 KiB and the changes no more than a tenth of it.
int document_edits(const struct write *op, size_t old, unsigned char *buffer, WT_MODIFY *edits);

enum { ENTRY_BYTES = 25 };

void entry_fill(unsigned char *p, uint32_t size, const struct write *op);
// entry_read is false where the bytes are no entry.
bool entry_read(const void *p, size_t n, struct write *op);

#endif
