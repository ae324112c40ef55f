// SPDX-License-Identifier: GPL-2.0-or-later
//
// A database with the part of mongod that writes: documents with indexes, and an oplog beside
// them. Nothing here knows of frames or threads.
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wiredtiger.h>

#include "wire.h"

enum {
	DOCUMENT_BYTES_MIN = 16, // seq and key
	INDEXES_MAX = 64,        // MongoDB's limit
	THREADS_MAX = 1024,
};

// What is larger than an int.
#define DOCUMENT_BYTES_MAX (64u << 20) // leaf_value_max: a document has no pages of its own below it
#define KEY_END (UINT64_C(1) << 62)

struct settings {
	uint32_t read_threads, write_threads;
	uint32_t checkpoint_ms, sync_ms;
	bool log, whole; // the connection has a log; a change is written as the whole document
	uint8_t random_percent;
	uint32_t indexes, index_entry;
	uint32_t oplog_record, oplog_bytes;
	uint64_t oplog_size;
	char *home, *connection, *documents, *index, *oplog;
};

extern struct settings settings;

// A write, or what the oplog has of it.
struct write {
	enum kind kind;
	uint64_t key, seq;
	uint32_t size, document;
};

// A worker is what one thread uses of the engine.
struct worker {
	int number; // which of the threads that write; -1: none
	WT_SESSION *session;
	WT_CURSOR *documents, *oplog, *indexes[INDEXES_MAX];
	unsigned char *buffer;
	size_t room;
};

// must ends the program with the engine's own word for what went wrong.
void must(int err, const char *what);

// store_open opens or makes the database; returns how many oplog entries it did again, or ends
// the program.
uint64_t store_open(void);
void store_close(void);

void worker_open(struct worker *w, int number);

// store_write does a write in a transaction, again after a conflict. An error is the engine's.
int store_write(struct worker *w, const struct write *op);
// store_read gives a document's seq and size; WT_NOTFOUND, or WT_ERROR if it is another's.
int store_read(struct worker *w, uint64_t key, uint64_t *seq, uint32_t *size);
// store_scan reads documents from a key on until it has so many bytes.
int store_scan(struct worker *w, uint64_t key, uint32_t bytes, uint32_t *documents);

// store_load inserts a document behind the last one. NULL, or what is wrong.
const char *store_load(struct worker *w, uint64_t key, uint32_t size);
// store_loaded ends loading: indexes, a checkpoint. warm reads documents into the cache.
void store_loaded(struct worker *w);
uint64_t store_warm(struct worker *w, uint64_t bytes);

// store_checkpoint makes a checkpoint, and cuts the oplog.
void store_checkpoint(struct worker *w);
// store_sync makes durable what was committed before.
void store_sync(struct worker *w);

// store_statistics writes "section: name\tvalue\n" for each statistic, in all at most room bytes.
size_t store_statistics(struct worker *w, char *text, size_t room);

#endif
