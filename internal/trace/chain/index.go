package chain

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"plimsoll/internal/trace/events"
)

// keepNs is how far back a trace keeps events: a call that began earlier is explained only in part.
const keepNs = int64(120e9)

// eventsMax bounds the number of events kept.
const eventsMax = 400_000

// A Window holds the events of the last minutes, indexed for queries.
type Window struct {
	header *events.Header
	disks  map[uint32][]events.Request // by disk, in the order of completion
	waits  map[uint32][]events.Wait    // by thread, in the order of time
	commit map[uint32][]events.Commit  // by file system, in the order of time
	handle []events.Handle
	first  map[int64]place
	names  map[events.FileID]string
	users  map[events.FileID][]events.File // who dirtied the file's pages
	alone  map[sizeClass]*latencies        // latencies of requests that had the device to themselves
	groups map[uint32]string
	// programs holds the names of processes, which are those of their first threads.
	programs map[uint32]string
	size     int
	lost     int64 // events that ended earlier were dropped for lack of room
	forgot   int64 // when events were last dropped
}

// A place locates a request in disks.
type place struct {
	dev  uint32
	done int64
}

// NewWindow returns an empty window.
func NewWindow(h *events.Header) *Window {
	return &Window{header: h, disks: map[uint32][]events.Request{}, waits: map[uint32][]events.Wait{},
		commit: map[uint32][]events.Commit{}, first: map[int64]place{}, names: map[events.FileID]string{},
		users: map[events.FileID][]events.File{}, alone: map[sizeClass]*latencies{}, groups: map[uint32]string{},
		programs: map[uint32]string{}}
}

// Add adds events. It ignores calls.
func (w *Window) Add(b *events.Batch) {
	w.requests(b.Requests)
	touched := map[uint32]int{}
	for i := range b.Waits {
		x := &b.Waits[i]
		if _, ok := touched[x.TID]; !ok {
			touched[x.TID] = len(w.waits[x.TID])
		}
		w.waits[x.TID] = append(w.waits[x.TID], *x)
	}

	for tid, from := range touched {
		// Events of several CPUs share one ring, so they arrive almost, but not quite, in order.
		sortFrom(w.waits[tid], from, func(x *events.Wait) int64 { return x.Out })
	}

	for _, c := range b.Commits {
		w.commit[c.Dev] = append(w.commit[c.Dev], c)
	}

	w.handle = append(w.handle, b.Handles...)
	for _, f := range b.Files {
		w.file(f)
	}

	w.size += b.Len()
	if w.size > eventsMax {
		// Dropping half at a time keeps the cost of dropping small compared with that of adding.
		w.lost = max(w.lost, w.middle())
		w.forget(w.lost)
	}
}

func (w *Window) requests(all []events.Request) {
	touched := map[uint32]int{}
	for i := range all {
		r := &all[i]
		if _, ok := touched[r.Dev]; !ok {
			touched[r.Dev] = len(w.disks[r.Dev])
		}
		w.disks[r.Dev] = append(w.disks[r.Dev], *r)
		w.first[r.First] = place{r.Dev, r.Done}
		w.learn(r)
	}
	for dev, from := range touched {
		sortFrom(w.disks[dev], from, func(r *events.Request) int64 { return r.Done })
	}
}

// sortFrom sorts a slice that was sorted before elements were appended at an index. Usually nothing
// has to move.
func sortFrom[T any](all []T, from int, key func(*T) int64) {
	for i := max(from, 1); i < len(all); i++ {
		if key(&all[i]) < key(&all[i-1]) {
			slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(key(&a), key(&b)) })
			return
		}
	}
}

// usersMax bounds the known writers of one file.
const usersMax = 16

// filesMax bounds the names and users of files.
const filesMax = 100_000

func (w *Window) file(f events.File) {
	if f.Group != "" {
		w.groups[f.PID] = f.Group
	}

	if f.ID.Inode == 0 {
		if f.TID == f.PID && f.Comm != "" && len(w.programs) < filesMax {
			w.programs[f.PID] = f.Comm
		}
		return // the event only gives the task's name and cgroup
	}

	if _, known := w.names[f.ID]; !known && len(w.names) >= filesMax {
		return
	}

	if p := w.path(&f); p != "" {
		w.names[f.ID] = p
	}

	// A kernel worker that touches a file's pages writes them back: it is not their author.
	if !f.Dirtied || f.Comm == "" || strings.HasPrefix(f.Comm, "kworker/") {
		return
	}

	users := w.users[f.ID]
	if i := slices.IndexFunc(users, func(u events.File) bool { return u.PID == f.PID }); i >= 0 {
		users[i].At = f.At
		return
	}

	if len(users) == usersMax {
		// The oldest writer is the least likely to have dirtied pages that are still to be written.
		users = users[1:]
	}

	w.users[f.ID] = append(users, f)
}

// path returns a file's path, or its last components if the kernel programs could not follow it to
// the root.
func (w *Window) path(f *events.File) string {
	if f.Path != "" || len(f.Names) == 0 {
		return f.Path
	}
	m := w.header.Mount(f.ID.Dev)
	if m == nil {
		m = &events.Mount{}
	}
	if p := m.Name(f.Names); p != "" {
		return p
	}
	names := slices.Clone(f.Names)
	slices.Reverse(names)
	return ".../" + strings.Join(names, "/")
}

// middle returns a time that splits the kept events roughly in half.
func (w *Window) middle() int64 {
	var all []int64
	for _, rs := range w.disks {
		if n := len(rs); n > 0 {
			all = append(all, rs[n/2].Done)
		}
	}

	for _, xs := range w.waits {
		if n := len(xs); n > 0 {
			all = append(all, xs[n/2].In)
		}
	}

	if len(all) == 0 {
		return 0
	}

	return slices.Max(all)
}

// Forget drops events that ended long before a time. It is cheap to call often.
func (w *Window) Forget(now int64) {
	if now-w.forgot > keepNs/8 {
		w.forgot = now
		w.forget(now - keepNs)
	}
}

// Whole reports whether all events since the start of a call are still available.
func (w *Window) Whole(c *events.Call) bool { return c.Enter >= w.lost }

func (w *Window) forget(before int64) {
	for dev, rs := range w.disks {
		i := sort.Search(len(rs), func(i int) bool { return rs[i].Done >= before })
		for k := range rs[:i] {
			delete(w.first, rs[k].First)
		}
		w.disks[dev] = slices.Delete(rs, 0, i) // in place, to reuse the capacity
		w.size -= i
	}

	for tid, xs := range w.waits {
		i := sort.Search(len(xs), func(i int) bool { return xs[i].In >= before })
		w.size -= i
		if i == len(xs) {
			delete(w.waits, tid)
		} else if i > 0 {
			w.waits[tid] = slices.Delete(xs, 0, i)
		}
	}

	for dev, cs := range w.commit {
		w.commit[dev] = slices.DeleteFunc(cs, func(c events.Commit) bool { return c.End < before })
	}

	w.handle = slices.DeleteFunc(w.handle, func(h events.Handle) bool { return h.End < before })
}

// waitsOf returns a thread's waits that overlap an interval.
func (w *Window) waitsOf(tid uint32, from, to int64) []events.Wait {
	xs := w.waits[tid]
	i := sort.Search(len(xs), func(i int) bool { return xs[i].In > from })
	k := i
	for k < len(xs) && xs[k].Out < to {
		k++
	}
	return xs[i:k]
}

// completed returns a disk's requests that completed within (from, to].
func (w *Window) completed(dev uint32, from, to int64) []events.Request {
	rs := w.disks[dev]
	i := sort.Search(len(rs), func(i int) bool { return rs[i].Done > from })
	k := i + sort.Search(len(rs)-i, func(k int) bool { return rs[i+k].Done > to })
	return rs[i:k]
}

// known finds a request by the time it was first seen, which identifies it.
func (w *Window) known(first int64) *events.Request {
	p, ok := w.first[first]
	if !ok {
		return nil
	}
	rs := w.completed(p.dev, p.done-1, p.done)
	for i := range rs {
		if rs[i].First == first {
			return &rs[i]
		}
	}
	return nil
}

// disksOf returns the disks below a file system, or all disks if it is unknown.
func (w *Window) disksOf(dev uint32) []uint32 {
	if m := w.header.Mount(dev); m != nil && len(m.Disks) > 0 {
		return m.Disks
	}
	var all []uint32
	for d := range w.disks {
		all = append(all, d)
	}
	slices.Sort(all)
	return all
}

// last returns the last matching request that completed within (from, to] on the disks of a file
// system; nil if there is none.
func (w *Window) last(fs uint32, from, to int64, wanted func(*events.Request) bool) *events.Request {
	var best *events.Request
	for _, dev := range w.disksOf(fs) {
		rs := w.completed(dev, from, to)
		for i := len(rs) - 1; i >= 0; i-- {
			if wanted(&rs[i]) {
				if best == nil || rs[i].Done > best.Done {
					best = &rs[i]
				}
				break
			}
		}
	}
	return best
}
