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

// A restarted container has a new cgroup, so its series would end with the old one. The new cgroup
// is found among the processes of the same program that started since, first in the same pod or
// slice.

const (
	// regroupEvery is the period of searches for the successor of a removed cgroup.
	regroupEvery = 10 * time.Second
	// regroupOverlap is how long before the removal the successor's process may have started: a
	// cgroup may be removed some time after the next container started.
	regroupOverlap = 30 * time.Second
)

// regrouping is the state of the search for a successor.
type regrouping struct {
	program string    // name of the main process; "" if unknown
	gone    time.Time // when the cgroup was first missing; zero if it exists
	since   int64     // the earliest start of a successor, in ticks since boot
	tried   time.Time
}

// dirs returns the folders of a group.
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

// mainProgram returns the name of a group's first process, or "" if it has none.
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

// regroup switches from a removed group to the one that replaces it.
func (s *sampler) regroup(at time.Time) {
	change := &s.regrouping
	dirs := s.group.dirs()
	if len(dirs) == 0 {
		return
	}

	if slices.ContainsFunc(dirs, func(dir string) bool { return exists(s.root, dir) }) {
		// Read while the group exists, because its program identifies the successor afterwards.
		if change.program == "" && change.tried.IsZero() {
			change.program, change.tried = s.group.mainProgram(s.root), at
		}
		if !change.gone.IsZero() { // the same name again, for example after a restart of a service
			s.note(recording.Note{Kind: recording.NoteGap, From: change.gone, To: at,
				Text: fmt.Sprintf("the cgroup %s was removed and created again: its process was restarted", s.group.id)})
			change.gone = time.Time{}
		}
		return
	}

	if change.gone.IsZero() {
		change.gone, change.tried = at, time.Time{}
		// The successor may have started shortly before the old group was seen to be gone.
		change.since = ticks(readText(s.root, "proc/uptime")) - int64(regroupOverlap.Seconds())*procfs.UserHz
	}

	// Looking for it reads /proc of all processes, which is too much for each sample.
	if at.Sub(change.tried) < regroupEvery {
		return
	}

	first := change.tried.IsZero()
	change.tried = at
	if g, ok := s.successor(); ok {
		s.note(recording.Note{Kind: recording.NoteGap, From: change.gone, To: at,
			Text: fmt.Sprintf("the cgroup %s was removed, for example by a container restart: now sampling %s, which runs %s",
				s.group.id, g.id, change.program)})
		s.group, change.gone = g, time.Time{}
		return
	}

	// Noted after the first attempt failed, so that a quick restart produces one note and not two.
	if first {
		s.note(recording.Note{Kind: recording.NoteLimit, From: change.gone,
			Text: fmt.Sprintf("the cgroup %s was removed, for example by a restart of a container: its memory, CPU and I/O are unknown until a cgroup with the same program appears",
				s.group.id)})
	}
}

// ticks parses the time since boot (proc(5), /proc/uptime). If it is unreadable, the result is so
// late that no process counts as new.
func ticks(uptime string) int64 {
	text, _, _ := strings.Cut(uptime, " ")
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return int64(v * procfs.UserHz)
	}
	return math.MaxInt64
}

// successor returns the group of a new process of the same program: one below the same parent, or
// the only one.
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

	// All checks read /proc while processes end, so an unreadable process is simply skipped.
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

		// The same pod or slice is the best match; elsewhere, only a unique match is safe.
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
