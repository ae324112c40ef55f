// What a slow system call waited for, as events. Programs attach to BTF tracepoints only. The
// loader leaves out those whose tracepoint the kernel lacks, and of two variants the one that does
// not fit the tracepoint's signature.
#include "events.h"

char _license[] SEC("license") = "Dual BSD/GPL";
const char _compiler[] SEC("compiler") = __clang_version__;

// Set before loading.
volatile const u64 slow_ns = 20000000;  // a call that took less is counted only
volatile const u64 wait_ns = 100000;    // a shorter wait is left out
volatile const u64 early_ns = 2000000;  // a wait that ends sooner after its call's start is left out
volatile const bool by_device = 0;      // targets are all processes, on file systems of fsdevs
volatile const u8 kinds[512] = {};      // by the number of a system call; 0: not traced

enum { KIND_FSYNC = 1, KIND_FDATASYNC, KIND_RANGE, KIND_MSYNC, KIND_WRITE, KIND_READ, KIND_SYNC, KIND_COUNT };

#define PF_KTHREAD 0x00200000
#define TASK_UNINTERRUPTIBLE 2
#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define ONCE_NS 10000000000ull // a file's name is given again after so long

struct call {
	u64 enter;
	u64 inode;
	u32 kind, fd;
	u32 dev, file_flags;
	u32 magic, pad;
};
struct wait {
	u64 out, wake, request;
	u64 enter; // of the call
	u32 waker_tgid, waker_tid;
	u32 preempted, pad;
	char waker[COMM];
};
struct inode_key {
	u64 inode;
	u64 dev;
};
struct inode_seen {
	u64 at;
	u32 tgid, pad;
};
struct done {
	u64 at, first;
};
struct count {
	u64 calls, ns, most, lost;
};

#define MAP(name, kind, entries, k, v)  \
	struct {                        \
		__uint(type, kind);     \
		__uint(max_entries, entries); \
		__type(key, k);         \
		__type(value, v);       \
	} name SEC(".maps")

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} events SEC(".maps");
MAP(targets, BPF_MAP_TYPE_HASH, 4096, u32, u8);  // processes
MAP(devs, BPF_MAP_TYPE_HASH, 256, u32, u8);      // disks
MAP(fsdevs, BPF_MAP_TYPE_HASH, 256, u32, u8);    // file systems
MAP(calls, BPF_MAP_TYPE_HASH, 16384, u32, struct call);
MAP(waits, BPF_MAP_TYPE_HASH, 16384, u32, struct wait);
MAP(requests, BPF_MAP_TYPE_HASH, 32768, u64, struct request_event);
MAP(commits, BPF_MAP_TYPE_HASH, 256, u64, struct commit_event);
MAP(flushers, BPF_MAP_TYPE_HASH, 1024, u32, u32);
MAP(inodes, BPF_MAP_TYPE_LRU_HASH, 16384, struct inode_key, struct inode_seen);
MAP(completing, BPF_MAP_TYPE_PERCPU_ARRAY, 1, u32, struct done);
MAP(counts, BPF_MAP_TYPE_PERCPU_ARRAY, KIND_COUNT, u32, struct count);
// Too large for a program's stack.
MAP(scratch, BPF_MAP_TYPE_PERCPU_ARRAY, 1, u32, struct request_event);

INLINE void lost(void)
{
	u32 zero = 0;
	struct count *c = bpf_map_lookup_elem(&counts, &zero);
	if (c)
		c->lost++;
}

// room reserves a record, or counts it as lost.
#define room(type) ({                                                     \
	void *_p = bpf_ringbuf_reserve(&events, sizeof(struct type), 0);  \
	if (!_p)                                                          \
		lost();                                                   \
	(struct type *)_p;                                                \
})

INLINE bool listed(void *map, u32 key) { return bpf_map_lookup_elem(map, &key) != 0; }

// File names

INLINE void named(struct inode_event *e, struct dentry *d)
{
#pragma unroll
	for (int i = 0; i < NAMES; i++) {
		e->names[i][0] = 0;
		struct dentry *parent = 0;
		const unsigned char *name = 0;
		if (!d)
			continue;
		READ(parent, d->d_parent);
		READ(name, d->d_name.name);
		bpf_probe_read_kernel_str(e->names[i], NAME, name);
		if (parent == d)
			parent = 0;
		d = parent;
	}
}

// seen hands over the name of a file and who uses it, unless it was done a moment ago.
INLINE void seen(u32 dev, u64 inode, u32 magic, struct dentry *d, struct inode *of, bool dirtied)
{
	u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct inode_key key = {inode, (u64)dev << 1 | dirtied};
	struct inode_seen *s = bpf_map_lookup_elem(&inodes, &key);
	// Two processes that write one file in turns are worth a record each second, not each page.
	if (s && now - s->at < (s->tgid == id >> 32 ? ONCE_NS : ONCE_NS / 10))
		return;
	struct inode_seen v = {now, id >> 32, 0};
	bpf_map_update_elem(&inodes, &key, &v, BPF_ANY);
	struct inode_event *e = room(inode_event);
	if (!e)
		return;
	e->type = EVENT_INODE;
	e->dev = dev;
	e->inode = inode;
	e->at = now;
	e->tgid = id >> 32;
	e->tid = id;
	e->dirtied = dirtied;
	e->magic = magic;
	bpf_get_current_comm(e->comm, COMM);
	if (!d && of) {
		struct hlist_node *first = 0;
		READ(first, of->i_dentry.first);
		if (first)
			d = (void *)first - field_offset(struct dentry, d_u);
	}
	named(e, d);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

INLINE int dirtied(struct address_space *mapping)
{
	if (!mapping)
		return 0;
	struct inode *host = mapping->host;
	if (!host)
		return 0;
	u32 dev = host->i_sb->s_dev;
	if (!listed(&fsdevs, dev))
		return 0;
	seen(dev, host->i_ino, host->i_sb->s_magic, 0, host, 1);
	return 0;
}

SEC("tp_btf/writeback_dirty_folio") // since 5.18
int dirty_folio(u64 *ctx) { return dirtied((void *)ctx[1]); }

SEC("tp_btf/writeback_dirty_page")
int dirty_page(u64 *ctx) { return dirtied((void *)ctx[1]); }

// System calls

INLINE struct file *file_of(u32 fd)
{
	struct task_struct *t = (void *)bpf_get_current_task();
	struct files_struct *files = 0;
	struct fdtable *table = 0;
	struct file **all = 0, *f = 0;
	u32 most = 0;
	READ(files, t->files);
	READ(table, files->fdt);
	READ(most, table->max_fds);
	if (fd >= most)
		return 0;
	READ(all, table->fd);
	bpf_probe_read_kernel(&f, sizeof(f), all + fd);
	return f;
}

INLINE u64 argument(void *regs, int n)
{
	u64 v = 0;
	struct pt_regs___x86 *x = regs;
	struct pt_regs___arm64 *a = regs;
	if (field_exists(x->di))
		READ(v, x->di);
	else
		READ(v, a->regs[0]);
	return v;
}

SEC("tp_btf/sys_enter")
int call_enter(u64 *ctx)
{
	u64 number = ctx[1];
	if (number >= sizeof(kinds))
		return 0;
	u32 kind = kinds[number];
	if (!kind)
		return 0;
	u64 id = bpf_get_current_pid_tgid();
	if (!by_device && !listed(&targets, id >> 32))
		return 0;
	struct call c = {};
	c.kind = kind;
	c.fd = -1;
	if (kind != KIND_MSYNC && kind != KIND_SYNC) {
		c.fd = argument((void *)ctx[0], 0);
		struct file *f = file_of(c.fd);
		struct inode *i = 0;
		struct super_block *sb = 0;
		u16 mode = 0;
		if (!f)
			return 0;
		READ(i, f->f_inode);
		READ(mode, i->i_mode);
		if ((mode & S_IFMT) != S_IFREG && (mode & S_IFMT) != S_IFBLK)
			return 0; // a socket, a pipe, a terminal
		READ(c.inode, i->i_ino);
		READ(sb, i->i_sb);
		READ(c.dev, sb->s_dev);
		READ(c.magic, sb->s_magic);
		READ(c.file_flags, f->f_flags);
	}
	if (by_device && !listed(&fsdevs, c.dev))
		return 0;
	c.enter = bpf_ktime_get_ns();
	u32 tid = id;
	if (bpf_map_update_elem(&calls, &tid, &c, BPF_ANY))
		lost();
	return 0;
}

SEC("tp_btf/sys_exit")
int call_exit(u64 *ctx)
{
	u64 id = bpf_get_current_pid_tgid();
	if (!by_device && !listed(&targets, id >> 32))
		return 0;
	u32 tid = id;
	struct call *c = bpf_map_lookup_elem(&calls, &tid);
	if (!c)
		return 0;
	u64 now = bpf_ktime_get_ns(), took = now - c->enter;
	u32 kind = c->kind;
	struct count *n = bpf_map_lookup_elem(&counts, &kind);
	if (n) {
		n->calls++;
		n->ns += took;
		if (took > n->most)
			n->most = took;
	}
	struct call_event *e = took >= slow_ns ? room(call_event) : 0;
	if (e) {
		e->type = EVENT_CALL;
		e->kind = kind;
		e->tgid = id >> 32;
		e->tid = tid;
		e->enter = c->enter;
		e->exit = now;
		e->result = ctx[1];
		e->inode = c->inode;
		e->dev = c->dev;
		e->fd = c->fd;
		e->file_flags = c->file_flags;
		e->magic = c->magic;
		bpf_get_current_comm(e->comm, COMM);
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
		struct file *f = c->inode ? file_of(c->fd) : 0;
		struct dentry *d = 0;
		if (f)
			READ(d, f->f_path.dentry);
		if (d)
			seen(c->dev, c->inode, c->magic, d, 0, 0);
	}
	bpf_map_delete_elem(&calls, &tid);
	return 0;
}

// Threads off their processor: those in a traced call, and the kernel's own when they wait for I/O.

INLINE long state_of(struct task_struct *t)
{
	struct task_struct___514 *old = (void *)t;
	if (field_exists(t->__state)) {
		u32 state = 0;
		READ(state, t->__state);
		return state;
	}
	long state = 0;
	READ(state, old->state);
	return state;
}

// The kernel's threads are in no call: all their waits count.
INLINE void switched_in(struct task_struct *t, u64 now)
{
	u32 tid = t->pid;
	struct wait *w = tid ? bpf_map_lookup_elem(&waits, &tid) : 0;
	if (!w)
		return;
	if (now - w->out >= wait_ns && now - w->enter >= early_ns) {
		struct wait_event *e = room(wait_event);
		if (e) {
			e->type = EVENT_WAIT;
			e->kthread = !!(t->flags & PF_KTHREAD);
			e->tgid = t->tgid;
			e->tid = tid;
			e->out = w->out;
			e->wake = w->wake;
			e->in = now;
			e->request = w->request;
			e->waker_tgid = w->waker_tgid;
			e->waker_tid = w->waker_tid;
			e->preempted = w->preempted;
			bpf_probe_read_kernel(e->comm, COMM, t->comm);
			bpf_probe_read_kernel(e->waker, COMM, w->waker);
			// It has not run yet: its stack is where it waited.
			long n = w->preempted ? 0 : bpf_get_task_stack(t, e->stack, sizeof(e->stack), 0);
			e->frames = n > 0 ? n : 0;
			bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
		}
	}
	bpf_map_delete_elem(&waits, &tid);
}

SEC("tp_btf/sched_switch")
int switched(u64 *ctx)
{
	bool preempt = ctx[0];
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u64 now = bpf_ktime_get_ns();
	u32 tid = prev->pid;
	bool wanted = 0, runs = preempt;
	u64 enter = 0;
	if (prev->flags & PF_KTHREAD) {
		wanted = tid && !preempt && state_of(prev) == TASK_UNINTERRUPTIBLE;
	} else {
		struct call *c = bpf_map_lookup_elem(&calls, &tid);
		if (c) {
			wanted = 1;
			runs = preempt || state_of(prev) == 0;
			enter = c->enter;
		}
	}
	if (wanted) {
		struct wait w = {};
		w.out = now;
		w.enter = enter;
		w.preempted = runs;
		if (bpf_map_update_elem(&waits, &tid, &w, BPF_ANY))
			lost();
	}
	switched_in(next, now);
	return 0;
}

SEC("tp_btf/sched_waking")
int waking(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	u32 tid = t->pid, zero = 0;
	struct wait *w = bpf_map_lookup_elem(&waits, &tid);
	if (!w || w->wake)
		return 0;
	u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	w->wake = now;
	w->waker_tgid = id >> 32;
	w->waker_tid = id;
	bpf_get_current_comm(w->waker, COMM);
	// A request ends right after its completion was announced on this processor.
	struct done *d = bpf_map_lookup_elem(&completing, &zero);
	if (d && now - d->at < 200000)
		w->request = d->first;
	return 0;
}

// Requests

INLINE u32 disk_of(struct request *rq)
{
	struct gendisk *disk = 0;
	struct request_queue *q = 0;
	struct request___515 *old = (void *)rq;
	int major = 0, minor = 0;
	if (field_exists(q->disk)) {
		q = rq->q;
		if (!q)
			return 0;
		disk = q->disk;
	} else {
		READ(disk, old->rq_disk);
	}
	if (!disk)
		return 0;
	READ(major, disk->major);
	READ(minor, disk->first_minor);
	return (u32)major << 20 | minor;
}

// owned finds the file that a request belongs to, by its first page.
INLINE void owned(struct request_event *e, struct bio *bio)
{
	struct bio_vec *vec = 0;
	struct page *page = 0;
	struct inode *host = 0;
	struct super_block *sb = 0;
	u64 mapping = 0, head = 0;
	if (!bio)
		return;
	u16 flags = 0;
	flags = bio->bi_flags;
	e->bio_flags = flags;
	vec = bio->bi_io_vec;
	if (!vec)
		return;
	page = vec->bv_page;
	if (!page)
		return;
	READ(head, page->compound_head);
	if (head & 1)
		page = (void *)(head - 1);
	READ(mapping, page->mapping);
	if (!mapping || mapping & 3)
		return; // anonymous memory: direct I/O, or the file system's own
	READ(host, ((struct address_space *)mapping)->host);
	// Memory of the slab allocator has something else in this place.
	if (!host || (u64)host + field_offset(struct inode, i_data) != mapping)
		return;
	READ(sb, host->i_sb);
	READ(e->inode, host->i_ino);
	READ(e->inode_dev, sb->s_dev);
	READ(e->inode_magic, sb->s_magic);
}

enum { STARTED, INSERTED, ISSUED };

INLINE int queued(struct request *rq, int step)
{
	u64 key = (u64)rq, alloc = 0, now;
	u32 zero = 0;
	alloc = rq->start_time_ns;
	struct request_event *known = bpf_map_lookup_elem(&requests, &key);
	if (known && known->alloc == alloc) {
		now = bpf_ktime_get_ns();
		if (step == INSERTED && !known->insert)
			known->insert = now;
		if (step == ISSUED) {
			if (!known->issue)
				known->issue = now;
			else
				known->requeues++;
			known->bytes = rq->__data_len;
			known->flags = rq->cmd_flags;
		}
		return 0;
	}
	u32 dev = disk_of(rq);
	if (!listed(&devs, dev))
		return 0;
	struct request_event *e = bpf_map_lookup_elem(&scratch, &zero);
	if (!e)
		return 0;
	now = bpf_ktime_get_ns();
	__builtin_memset(e, 0, sizeof(*e));
	u64 id = bpf_get_current_pid_tgid();
	e->type = EVENT_REQUEST;
	e->dev = dev;
	e->sector = rq->__sector;
	e->bytes = rq->__data_len;
	e->flags = rq->cmd_flags;
	e->alloc = alloc;
	e->first = now;
	if (step == INSERTED)
		e->insert = now;
	if (step == ISSUED)
		e->issue = now;
	e->tgid = id >> 32;
	e->tid = id;
	u32 tid = id, flags = 0;
	u32 *reason = bpf_map_lookup_elem(&flushers, &tid);
	if (reason)
		e->reason = *reason + 1;
	struct task_struct *t = (void *)bpf_get_current_task();
	READ(flags, t->flags);
	e->kthread = !!(flags & PF_KTHREAD);
	bpf_get_current_comm(e->comm, COMM);
	owned(e, rq->bio);
	if (bpf_map_update_elem(&requests, &key, e, BPF_ANY))
		lost();
	return 0;
}

// Until 5.11 the queue came first.
SEC("tp_btf/block_rq_insert")
int insert_510(u64 *ctx) { return queued((void *)ctx[1], INSERTED); }
SEC("tp_btf/block_rq_issue")
int issue_510(u64 *ctx) { return queued((void *)ctx[1], ISSUED); }
SEC("tp_btf/block_rq_merge")
int merge_510(u64 *ctx)
{
	u64 key = ctx[1];
	bpf_map_delete_elem(&requests, &key);
	return 0;
}

SEC("tp_btf/block_io_start") // since 6.3: before a flush or a scheduler takes the request
int io_start(u64 *ctx) { return queued((void *)ctx[0], STARTED); }
SEC("tp_btf/block_rq_insert")
int insert(u64 *ctx) { return queued((void *)ctx[0], INSERTED); }
SEC("tp_btf/block_rq_issue")
int issue(u64 *ctx) { return queued((void *)ctx[0], ISSUED); }
SEC("tp_btf/block_rq_merge")
int merge(u64 *ctx)
{
	u64 key = ctx[0];
	bpf_map_delete_elem(&requests, &key);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int complete(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	u64 key = ctx[0];
	u32 done = ctx[2], left = 0, zero = 0;
	struct request_event *r = bpf_map_lookup_elem(&requests, &key);
	if (!r)
		return 0;
	left = rq->__data_len;
	if (done < left)
		return 0; // a part of it
	r->done = bpf_ktime_get_ns();
	// A write with a flush before or after it completes once for its data and once in all.
	u32 flags = 0, sequence = 1 << 4;
	if (enum_exists(enum rqf_flags, __RQF_FLUSH_SEQ))
		sequence = 1 << enum_value(enum rqf_flags, __RQF_FLUSH_SEQ);
	flags = rq->rq_flags;
	if (flags & sequence)
		return 0;
	struct done *d = bpf_map_lookup_elem(&completing, &zero);
	if (d) {
		d->at = r->done;
		d->first = r->first;
	}
	struct request_event *e = room(request_event);
	if (e) {
		bpf_probe_read_kernel(e, sizeof(*e), r);
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	}
	bpf_map_delete_elem(&requests, &key);
	return 0;
}

// Writeback

SEC("tp_btf/writeback_start")
int flush_start(u64 *ctx)
{
	struct wb_writeback_work *work = (void *)ctx[1];
	u32 tid = bpf_get_current_pid_tgid(), reason = work->reason;
	bpf_map_update_elem(&flushers, &tid, &reason, BPF_ANY);
	return 0;
}

SEC("tp_btf/writeback_written")
int flush_end(u64 *ctx)
{
	u32 tid = bpf_get_current_pid_tgid();
	bpf_map_delete_elem(&flushers, &tid);
	return 0;
}

// The journal of ext4

SEC("tp_btf/jbd2_start_commit")
int commit_start(u64 *ctx)
{
	struct journal_s *j = (void *)ctx[0];
	struct transaction_s *t = (void *)ctx[1];
	u64 key = ctx[0];
	struct commit_event c = {};
	c.dev = j->j_fs_dev->bd_dev;
	if (!listed(&fsdevs, c.dev))
		return 0;
	c.type = EVENT_COMMIT;
	c.transaction = t->t_tid;
	c.tid = bpf_get_current_pid_tgid();
	c.start = bpf_ktime_get_ns();
	bpf_map_update_elem(&commits, &key, &c, BPF_ANY);
	return 0;
}

#define PHASE(name, tracepoint, field)                                     \
	SEC("tp_btf/" tracepoint)                                          \
	int name(u64 *ctx)                                                 \
	{                                                                  \
		u64 key = ctx[0];                                          \
		struct commit_event *c = bpf_map_lookup_elem(&commits, &key); \
		if (c)                                                     \
			c->field = bpf_ktime_get_ns();                     \
		return 0;                                                  \
	}
PHASE(commit_locking, "jbd2_commit_locking", locking)
PHASE(commit_flushing, "jbd2_commit_flushing", flushing)
PHASE(commit_logging, "jbd2_commit_logging", logging)

SEC("tp_btf/jbd2_end_commit")
int commit_end(u64 *ctx)
{
	u64 key = ctx[0];
	struct commit_event *c = bpf_map_lookup_elem(&commits, &key);
	if (!c)
		return 0;
	c->end = bpf_ktime_get_ns();
	struct commit_event *e = room(commit_event);
	if (e) {
		bpf_probe_read_kernel(e, sizeof(*e), c);
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	}
	bpf_map_delete_elem(&commits, &key);
	return 0;
}

SEC("tp_btf/jbd2_handle_stats")
int handle_stats(u64 *ctx)
{
	u32 dev = ctx[0], jiffies = ctx[4];
	if (jiffies < 2 || !listed(&fsdevs, dev))
		return 0;
	struct handle_event *e = room(handle_event);
	if (!e)
		return 0;
	u64 id = bpf_get_current_pid_tgid();
	e->type = EVENT_HANDLE;
	e->dev = dev;
	e->transaction = ctx[1];
	e->jiffies = jiffies;
	e->tgid = id >> 32;
	e->tid = id;
	e->end = bpf_ktime_get_ns();
	bpf_get_current_comm(e->comm, COMM);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}
