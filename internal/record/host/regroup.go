package host

import (
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/record/recording"
)

// A restarted container has a new cgroup: its series would end with the old one. The new one is looked
// for among the processes of the same program that started since, first in the same pod or slice.

const (
	// regroupEvery is how often a cgroup that is gone is looked for.
	regroupEvery = 10 * time.Second
	// regroupOverlap is how long before that a process may have started: a container's cgroup may be
	// removed some time after the next container started.
	regroupOverlap = 30 * time.Second
)

// regrouping is what is known of a cgroup that may be replaced.
type regrouping struct {
	program string    // the main process's name; "": not known
	gone    time.Time // when the cgroup was first missing; zero: it is there
	since   int64     // the earliest start of a successor, in ticks since boot
	tried   time.Time
}

// dirs are the folders of a group.
func (g cgroup) dirs() []string {
	var out []string
	if g.v2 != "" {
		out = append(out, g.v2)
	}
	for _, c := range controllers {
		if dir := g.dir[c]; dir != "" {
			out = append(out, dir)
		}
	}
	return out
}

// mainProgram is the name of a group's first process; "" if it has none.
func (g cgroup) mainProgram(root string) string {
	for _, dir := range g.dirs() {
		text, err := readFile(root, dir+"/cgroup.procs")
		if err != nil {
			continue
		}
		first, _, _ := strings.Cut(string(text), "\n")
		if pid, err := strconv.Atoi(strings.TrimSpace(first)); err == nil {
			return readText(root, "proc/"+strconv.Itoa(pid)+"/comm")
		}
	}
	return ""
}

// regroup follows a group that was removed to the one that replaces it.
func (s *sampler) regroup(at time.Time) {
	r := &s.regrouping
	dirs := s.group.dirs()
	if len(dirs) == 0 {
		return
	}

	if slices.ContainsFunc(dirs, func(dir string) bool { return exists(s.root, dir) }) {
		if r.program == "" && r.tried.IsZero() {
			r.program, r.tried = s.group.mainProgram(s.root), at
		}
		if !r.gone.IsZero() { // a group of the same name, as a service that was restarted has
			s.tell(recording.Note{Kind: recording.NoteGap, From: r.gone, To: at,
				Text: fmt.Sprintf("the cgroup %s was removed and made again: its process was restarted", s.group.id)})
			r.gone = time.Time{}
		}
		return
	}

	if r.gone.IsZero() {
		r.gone, r.tried = at, time.Time{}
		r.since = ticks(readText(s.root, "proc/uptime")) - int64(regroupOverlap.Seconds())*procfs.UserHz
	}

	if at.Sub(r.tried) < regroupEvery {
		return
	}

	first := r.tried.IsZero()
	r.tried = at
	if g, ok := s.successor(); ok {
		s.tell(recording.Note{Kind: recording.NoteGap, From: r.gone, To: at,
			Text: fmt.Sprintf("the cgroup %s was removed, as when a container is restarted: %s, in which %s runs now, is sampled from here on",
				s.group.id, g.id, r.program)})
		s.group, r.gone = g, time.Time{}
		return
	}

	if first {
		s.tell(recording.Note{Kind: recording.NoteLimit, From: r.gone,
			Text: fmt.Sprintf("the cgroup %s was removed, as when a container is restarted: its memory, CPU and I/O are unknown until a cgroup with the same program appears",
				s.group.id)})
	}
}

// ticks reads the seconds since boot (proc(5), /proc/uptime). Where they cannot be read, nothing has
// started since.
func ticks(uptime string) int64 {
	text, _, _ := strings.Cut(uptime, " ")
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return int64(v * procfs.UserHz)
	}
	return math.MaxInt64
}

// successor is the group of a new process of the same program: one below the same parent, or the only
// one.
func (s *sampler) successor() (cgroup, bool) {
	if s.regrouping.program == "" {
		return cgroup{}, false
	}

	proc := filepath.Join(s.root, "proc")
	pids, err := procfs.PIDs(proc)
	if err != nil {
		return cgroup{}, false
	}

	var found []cgroup
	for _, pid := range pids[:min(len(pids), processesMax)] {
		if readText(s.root, "proc/"+strconv.Itoa(pid)+"/comm") != s.regrouping.program {
			continue
		}

		p, err := procfs.ProcessOf(proc, pid)
		if err != nil {
			continue
		}

		if began, err := strconv.ParseInt(p.Start, 10, 64); err != nil || began < s.regrouping.since {
			continue
		}

		member, err := readFile(s.root, "proc/"+strconv.Itoa(pid)+"/cgroup")
		if err != nil {
			continue
		}

		g := memberOf(s.root, string(member), true)
		if !g.there() || slices.ContainsFunc(found, func(o cgroup) bool { return o.id == g.id }) {
			continue
		}

		if path.Dir(g.id) == path.Dir(s.group.id) {
			return g, true
		}

		found = append(found, g)
	}

	if len(found) == 1 {
		return found[0], true
	}

	return cgroup{}, false
}

// tell passes on a note while samples are taken.
func (s *sampler) tell(n recording.Note) {
	if s.note != nil {
		s.note(n)
	}
}
