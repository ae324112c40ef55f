// SPDX-License-Identifier: GPL-2.0-or-later
//
// A part of mongod for plimsoll's laboratory: a real WiredTiger that does what it is asked over a
// pipe. PROTOCOL.md says what.
//
// One thread reads requests and sorts them into queues: reads and writes have as many threads as
// mongod has tickets, and what must not wait behind them has threads of its own. A write that waits for
// the journal leaves its thread when it is committed; the flusher answers it after the next sync.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "document.h"
#include "oplog.h"
#include "store.h"
#include "wire.h"

enum { QUEUED_MAX = 1 << 16, LOAD_MAX = 16000 };

struct request {
	struct request *next;
	uint64_t id;
	struct write op; // of writes, reads and scans
	bool wait;
	size_t n;
	unsigned char body[]; // of the others
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	struct request *first, **last;
	size_t n;
	_Atomic uint64_t busy;
};

static struct queue control, sampling, reading, writing;
static atomic_bool opened, serving;

// Held by all who are inside the engine, and for good by who closes it.
static pthread_rwlock_t inside = PTHREAD_RWLOCK_INITIALIZER;

static void queue_init(struct queue *q) {
	*q = (struct queue){.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .emptied = PTHREAD_COND_INITIALIZER};
	q->last = &q->first;
}

// put waits while too many are there: then the pipe fills, and who asks waits.
static void put(struct queue *q, struct request *r) {
	pthread_mutex_lock(&q->lock);
	while (q->n == QUEUED_MAX) pthread_cond_wait(&q->emptied, &q->lock);
	r->next = NULL;
	*q->last = r;
	q->last = &r->next;
	q->n++;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

static struct request *get(struct queue *q) {
	pthread_mutex_lock(&q->lock);
	while (q->first == NULL) pthread_cond_wait(&q->filled, &q->lock);
	struct request *r = q->first;
	q->first = r->next;
	if (q->first == NULL) q->last = &q->first;
	if (q->n-- == QUEUED_MAX) pthread_cond_signal(&q->emptied);
	pthread_mutex_unlock(&q->lock);
	return r;
}

static void start(void *(*run)(void *), void *arg) {
	pthread_t t;
	int err = pthread_create(&t, NULL, run, arg);
	if (err != 0) die(1, "thread: %s", strerror(err));
	pthread_detach(t);
}

// Those who wait for the journal.
static struct {
	pthread_mutex_t lock;
	pthread_cond_t some;
	uint64_t *ids;
	size_t n, room;
	bool dirty; // something was committed since the last sync
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER, .some = PTHREAD_COND_INITIALIZER};

// committed has a write answered: now, or after a sync.
static void committed(uint64_t id, bool wait) {
	if (!settings.log) wait = false;
	pthread_mutex_lock(&waiting.lock);
	waiting.dirty = true;
	if (wait) {
		if (waiting.n == waiting.room) {
			waiting.room = waiting.room * 2 + 64;
			waiting.ids = realloc(waiting.ids, waiting.room * sizeof *waiting.ids);
			if (waiting.ids == NULL) die(1, "no memory for those who wait");
		}
		waiting.ids[waiting.n++] = id;
		pthread_cond_signal(&waiting.some);
	}
	pthread_mutex_unlock(&waiting.lock);
	if (!wait) answer(id, DONE, NULL, 0);
}

static struct timespec after_ms(clockid_t clock, uint32_t ms) {
	struct timespec t;
	clock_gettime(clock, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
	return t;
}

// flusher is mongod's journal flusher: at once if somebody waits, else every so often.
static void *flusher(void *unused) {
	(void)unused;
	struct worker w;
	worker_open(&w, -1);
	uint64_t *ids = NULL;
	size_t room = 0;
	for (;;) {
		pthread_mutex_lock(&waiting.lock);
		struct timespec until = after_ms(CLOCK_MONOTONIC, settings.sync_ms);
		while (waiting.n == 0 && pthread_cond_clockwait(&waiting.some, &waiting.lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT) {}
		bool dirty = waiting.dirty;
		waiting.dirty = false;
		size_t n = waiting.n, other = room;
		uint64_t *mine = waiting.ids;
		room = waiting.room;
		waiting.ids = ids;
		waiting.room = other;
		waiting.n = 0;
		ids = mine;
		pthread_mutex_unlock(&waiting.lock);
		if (!dirty) continue;
		pthread_rwlock_rdlock(&inside);
		store_sync(&w);
		pthread_rwlock_unlock(&inside);
		answer_all(ids, n);
	}
	return NULL;
}

// checkpointer waits after each checkpoint ended, as mongod does: the period is the pause and
// what the checkpoint takes.
static void *checkpointer(void *unused) {
	(void)unused;
	struct worker w;
	worker_open(&w, -1);
	for (;;) {
		struct timespec until = after_ms(CLOCK_MONOTONIC, settings.checkpoint_ms);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
		pthread_rwlock_rdlock(&inside);
		unsigned char at[8];
		put64(at, (uint64_t)now_ns());
		answer(0, BEGAN, at, sizeof at);
		store_checkpoint(&w);
		put64(at, (uint64_t)now_ns());
		answer(0, ENDED, at, sizeof at);
		pthread_rwlock_unlock(&inside);
	}
	return NULL;
}

static void do_read(struct worker *w, struct request *r) {
	unsigned char body[13] = {0};
	uint64_t seq = 0;
	uint32_t n = 0;
	int err;
	if (r->op.kind == SCAN) {
		if ((err = store_scan(w, r->op.key, r->op.size, &n)) == 0) {
			put32(body, n);
			answer(r->id, DONE, body, 4);
			return;
		}
	} else if ((err = store_read(w, r->op.key, &seq, &n)) == 0 || err == WT_NOTFOUND) {
		body[0] = err == 0;
		put64(body + 1, seq);
		put32(body + 9, n);
		answer(r->id, DONE, body, sizeof body);
		return;
	}
	fail(r->id, "read document %llu: %s", (unsigned long long)r->op.key, wiredtiger_strerror(err));
}

// worker is a thread of reads or writes: a ticket.
static void *worker(void *arg) {
	static atomic_int numbers;
	struct queue *q = arg;
	struct worker w;
	worker_open(&w, q == &writing ? atomic_fetch_add(&numbers, 1) : -1);
	for (;;) {
		struct request *r = get(q);
		atomic_fetch_add(&q->busy, 1);
		pthread_rwlock_rdlock(&inside);
		int err = 0;
		if (q == &reading) do_read(&w, r);
		else err = store_write(&w, &r->op);
		pthread_rwlock_unlock(&inside);
		atomic_fetch_sub(&q->busy, 1);
		if (err == WT_PANIC) die(1, "write: %s", wiredtiger_strerror(err));
		if (err != 0) fail(r->id, "write document %llu: %s", (unsigned long long)r->op.key, wiredtiger_strerror(err));
		else if (q == &writing) committed(r->id, r->wait);
		free(r);
	}
	return NULL;
}

// sampler answers statistics, whatever the others wait for.
static void *sampler(void *unused) {
	(void)unused;
	static unsigned char body[ANSWER_BYTES_MAX - HEAD_BYTES];
	struct worker w;
	worker_open(&w, -1);
	for (;;) {
		struct request *r = get(&sampling);
		pthread_rwlock_rdlock(&inside);
		put64(body, (uint64_t)now_ns());
		size_t n = 8 + store_statistics(&w, (char *)body + 8, sizeof body - 8 - 1024);
		pthread_rwlock_unlock(&inside);
		n += (size_t)snprintf((char *)body + n, 1024, "plimsoll: reads out\t%llu\nplimsoll: writes out\t%llu\nplimsoll: conflicts\t%llu\n",
			(unsigned long long)reading.busy, (unsigned long long)writing.busy, (unsigned long long)conflicts);
		answer(r->id, DONE, body, n);
		free(r);
	}
	return NULL;
}

__attribute__((noreturn)) static void bad(enum kind kind) { die(2, "bad frame: kind %d with a body that is none", (int)kind); }

static void do_open(struct request *r, struct body *b) {
	settings.read_threads = take32(b);
	settings.write_threads = take32(b);
	settings.checkpoint_ms = take32(b);
	settings.sync_ms = take32(b);
	uint8_t flags = take8(b);
	settings.log = flags & 1;
	settings.whole = flags & 2;
	settings.random_percent = take8(b);
	settings.indexes = take32(b);
	settings.index_entry = take32(b);
	settings.oplog_record = take32(b);
	settings.oplog_bytes = take32(b);
	settings.oplog_size = take64(b);
	settings.home = take_string(b);
	settings.connection = take_string(b);
	settings.documents = take_string(b);
	settings.index = take_string(b);
	settings.oplog = take_string(b);
	if (b->bad || b->left != 0 || settings.read_threads - 1 >= THREADS_MAX || settings.write_threads - 1 >= THREADS_MAX ||
		settings.checkpoint_ms == 0 || settings.sync_ms == 0 || flags > 3 || settings.random_percent > 100 || settings.indexes > INDEXES_MAX ||
		settings.oplog_record > DOCUMENT_BYTES_MAX || settings.oplog_bytes > DOCUMENT_BYTES_MAX) bad(OPEN);
	unsigned char body[8];
	put64(body, store_open());
	for (uint32_t i = 0; i < settings.read_threads; i++) start(worker, &reading);
	for (uint32_t i = 0; i < settings.write_threads; i++) start(worker, &writing);
	start(sampler, NULL);
	if (settings.log) start(flusher, NULL);
	opened = true;
	answer(r->id, DONE, body, sizeof body);
}

static void do_load(struct worker *w, struct request *r, struct body *b) {
	uint64_t first = take64(b);
	uint32_t count = take32(b), sizes = take32(b);
	if (b->bad || first >= KEY_END || count > LOAD_MAX || (sizes != 1 && sizes != count) || b->left != 4 * (size_t)sizes) bad(LOAD);
	uint32_t size = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (i < sizes) size = take32(b);
		if (size > DOCUMENT_BYTES_MAX) bad(LOAD);
		const char *wrong = store_load(w, first + i, size);
		if (wrong != NULL) {
			fail(r->id, "load document %llu: %s", (unsigned long long)(first + i), wrong);
			return;
		}
	}
	answer(r->id, DONE, NULL, 0);
}

// controller does one after the other what happens once.
static void *controller(void *unused) {
	(void)unused;
	struct worker w = {0};
	for (;;) {
		struct request *r = get(&control);
		struct body b = {r->body, r->n, false};
		unsigned char body[8];
		switch (r->op.kind) {
		case OPEN:
			if (opened) { fail(r->id, "open: it is open"); break; }
			do_open(r, &b);
			worker_open(&w, -1);
			break;
		case LOAD:
			do_load(&w, r, &b);
			break;
		case LOADED: {
			uint64_t bytes = take64(&b);
			if (b.bad || b.left != 0) bad(LOADED);
			store_loaded(&w);
			put64(body, store_warm(&w, bytes));
			answer(r->id, DONE, body, sizeof body);
			break;
		}
		case SERVE:
			if (!atomic_exchange(&serving, true)) start(checkpointer, NULL);
			answer(r->id, DONE, NULL, 0);
			break;
		case CHECKPOINT:
			store_checkpoint(&w);
			answer(r->id, DONE, NULL, 0);
			break;
		default: // QUIT
			pthread_rwlock_wrlock(&inside);
			store_checkpoint(&w); // with the oplog's place, which the engine's own does not note
			store_close();
			answer(r->id, DONE, NULL, 0);
			_exit(0);
		}
		free(r);
	}
	return NULL;
}

// sort has a request done by who does its kind.
static void sort(uint64_t id, enum kind kind, struct body b) {
	struct request *r = malloc(sizeof *r + b.left);
	if (r == NULL) die(1, "no memory for a request");
	*r = (struct request){.id = id, .op = {.kind = kind}};
	struct queue *q = &control;
	switch (kind) {
	case INSERT: case UPDATE: case PUSH:
		q = &writing;
		r->op.key = take64(&b);
		r->op.seq = take64(&b);
		r->op.size = take32(&b);
		r->op.document = take32(&b);
		r->wait = take8(&b);
		break;
	case READ: case SCAN:
		q = &reading;
		r->op.key = take64(&b);
		if (kind == SCAN) r->op.size = take32(&b);
		break;
	case STATISTICS:
		q = &sampling;
		break;
	case OPEN: case LOAD: case LOADED:
		r->n = b.left;
		if (r->n > 0) memcpy(r->body, b.p, b.left);
		b.left = 0;
		break;
	default:
		break;
	}
	if (b.bad || b.left != 0 || id == 0 || kind < OPEN || kind >= KINDS || r->op.key >= KEY_END ||
		r->op.size > DOCUMENT_BYTES_MAX || r->op.document > DOCUMENT_BYTES_MAX) bad(kind);
	if (!opened && kind != OPEN) {
		// An open under way is not yet one: who asks waits for its answer.
		fail(id, "open a database first");
		free(r);
		return;
	}
	put(q, r);
}

int main(int argc, char **argv) {
	int major, minor, patch;
	wiredtiger_version(&major, &minor, &patch);
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("plimsoll-wiredtiger, protocol %d, WiredTiger %d.%d.%d\n", PROTOCOL_VERSION, major, minor, patch);
		return 0;
	}
	if (argc != 1) die(2, "usage: plimsoll-wiredtiger [--version]; it is started by plimsoll, PROTOCOL.md says how it is spoken to");
	signal(SIGPIPE, SIG_IGN);
	// What any library prints must not fall among the answers.
	int fd = dup(STDOUT_FILENO);
	if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) die(1, "stdout: %s", strerror(errno));
	answers_to(fd);
	queue_init(&control), queue_init(&sampling), queue_init(&reading), queue_init(&writing);

	unsigned char hello[64];
	int n = snprintf((char *)hello + 8, sizeof hello - 8, "%d.%d.%d", major, minor, patch);
	put32(hello, 0x54574c50);
	hello[4] = PROTOCOL_VERSION, hello[5] = 0, hello[6] = (unsigned char)n, hello[7] = 0;
	answer(0, HELLO, hello, 8 + (size_t)n);
	start(controller, NULL);

	static unsigned char frame[REQUEST_BYTES_MAX];
	while (read_full(frame, 4)) {
		struct body head = {frame, 4, false};
		uint32_t length = take32(&head);
		if (length < HEAD_BYTES || length > REQUEST_BYTES_MAX) die(2, "bad frame: %u bytes, not %d to %d", (unsigned)length, HEAD_BYTES, REQUEST_BYTES_MAX);
		if (!read_full(frame, length)) die(2, "bad frame: stdin ended within it");
		struct body b = {frame, length, false};
		uint64_t id = take64(&b);
		sort(id, take8(&b), b);
	}
	_exit(0);
}
