package host

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/record/recording"
)

const (
	// writersEvery is the period of scans: reading /proc/PID/io of several hundred processes takes
	// milliseconds.
	writersEvery = 10 * time.Second
	// processesMax bounds the processes, and descriptorsMax the open files of a process, in a scan.
	processesMax   = 20_000
	descriptorsMax = 256
	// filesOfMost bounds the processes of a program whose open files are read.
	filesOfMost = 16
	// writersMost bounds the reported programs, and writersLeast is the minimum share of all bytes
	// of each.
	writersMost  = 3
	writersLeast = 0.05
)

// writerFact is the prefix of the names of facts about writing programs.
const writerFact = "writer."

// writers tracks what each process has written to storage.
type writers struct {
	root    string
	scanned time.Time
	began   map[process]int64 // write_bytes at the first scan, by process
	facts   map[string]string
}

// A process is identified by its id and its start, because ids are reused.
type process struct {
	pid   int
	start string
}

// A program is the processes of one server: a parent and its children with the same name.
type program struct {
	name  string
	pid   int // of the parent
	bytes int64
	pids  []int // those that wrote since the first scan, and the parent
}

// update determines how much each process has written since the first scan. Only root sees this for
// the processes of other users (proc(5), /proc/PID/io).
func (w *writers) update(at time.Time) {
	if at.Sub(w.scanned) < writersEvery && w.began != nil {
		return
	}

	w.scanned = at
	proc := filepath.Join(w.root, "proc")
	pids, err := procfs.PIDs(proc)
	if err != nil {
		return
	}

	first := w.began == nil
	if first {
		w.began = map[process]int64{}
	}

	type seen struct {
		name   string
		parent int
		bytes  int64
	}

	all := map[int]seen{}
	for _, pid := range pids {
		if len(all) == processesMax {
			break
		}

		stat, err := procfs.ProcessOf(proc, pid)
		written, shown := writeBytes(w.root, pid)
		if err != nil || !shown {
			continue
		}

		p := process{pid, stat.Start}
		if first {
			w.began[p] = written
		}

		// Processes that started after the first scan count from zero.
		all[pid] = seen{stat.Name, stat.Parent, written - w.began[p]}
	}

	if first {
		return
	}

	total := int64(0)

	// The children of a server, such as the backends of PostgreSQL, count for their topmost
	// ancestor with the same name.
	of := map[int]*program{}
	for own, x := range all {
		pid := own
		total += x.bytes

		for range 8 { // bounds inconsistent reads; there are no real loops of parents
			up, ok := all[x.parent]
			if !ok || up.name != x.name {
				break
			}
			pid, x.parent = x.parent, up.parent
		}

		if of[pid] == nil {
			of[pid] = &program{name: x.name, pid: pid}
		}

		of[pid].bytes += x.bytes
		if x.bytes > 0 || own == pid {
			of[pid].pids = append(of[pid].pids, own)
		}
	}

	w.report(of, total)
}

// report creates facts about the programs that wrote the most: "writer.1" = "postgres pid=1234
// share=0.97 device=nvme1n1,nvme2n1 port=5432".
func (w *writers) report(of map[int]*program, total int64) {
	list := slices.Collect(maps.Values(of))
	slices.SortFunc(list,
		func(a, b *program) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.pid, b.pid)) })
	w.facts = map[string]string{}

	for i, p := range list[:min(len(list), writersMost)] {
		// The list is sorted, so all that follow wrote even less.
		share := float64(p.bytes) / float64(max(1, total))
		if share < writersLeast {
			break
		}

		text := fmt.Sprintf("%s pid=%d share=%.2f", strings.ReplaceAll(p.name, " ", "_"), p.pid, share)
		slices.Sort(p.pids)

		var devices []string
		// Children may have other files open, as PostgreSQL's backends and checkpointer do.
		for _, pid := range p.pids[:min(len(p.pids), filesOfMost)] {
			paths, _ := openFiles(w.root, pid)
			for _, d := range devicesOf(w.root, pid, paths) {
				if !slices.Contains(devices, d) {
					devices = append(devices, d)
				}
			}
		}

		if len(devices) > 0 {
			text += " device=" + strings.Join(devices, ",")
		}

		// The main process listens; its children have at most the same sockets.
		_, sockets := openFiles(w.root, p.pid)
		if port := listensAt(w.root, p.pid, sockets); port > 0 {
			text += " port=" + strconv.Itoa(port)
		}

		w.facts["writer."+strconv.Itoa(i+1)] = text
	}
}

// addFacts adds the facts to those of a source.
func (w *writers) addFacts(d *recording.Source) {
	if len(w.facts) == 0 {
		return
	}
	d.Facts = maps.Clone(d.Facts) // the map may be in use elsewhere
	maps.DeleteFunc(d.Facts, func(name, _ string) bool { return strings.HasPrefix(name, writerFact) })
	maps.Copy(d.Facts, w.facts)
}

// writeBytes returns the bytes that a process sent to storage; false if they are not readable.
func writeBytes(root string, pid int) (int64, bool) {
	for name, value := range procfs.Pairs(readText(root, fmt.Sprintf("proc/%d/io", pid))) {
		if name == "write_bytes" {
			n, err := strconv.ParseInt(value, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// openFiles returns the paths and sockets that a process has open.
func openFiles(root string, pid int) (paths []string, sockets map[string]bool) {
	dir := filepath.Join(root, "proc", strconv.Itoa(pid))
	sockets = map[string]bool{}
	if cwd, err := os.Readlink(filepath.Join(dir, "cwd")); err == nil {
		paths = append(paths, cwd) // often the data folder of a server
	}

	entries, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return paths, sockets
	}

	for _, e := range entries[:min(len(entries), descriptorsMax)] {
		to, err := os.Readlink(filepath.Join(dir, "fd", e.Name()))
		switch inode, isSocket := strings.CutPrefix(to, "socket:["); {
		case err != nil:
		case isSocket:
			sockets[strings.TrimSuffix(inode, "]")] = true
		case strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "/dev/") && !strings.HasPrefix(to, "/proc/"):
			paths = append(paths, to)
		}
	}

	return paths, sockets
}

// devicesOf returns the devices with a process's open files, according to its own mounts, the one
// with the most files first. It leaves out the root device, which has programs and logs of all
// processes, unless it is the only one.
func devicesOf(root string, pid int, paths []string) (out []string) {
	b, err := readFile(root, fmt.Sprintf("proc/%d/mountinfo", pid))
	if err != nil {
		return nil
	}

	mounts := parseMounts(string(b))
	votes, ofRoot := map[string]int{}, map[string]bool{}
	for _, p := range paths {
		// Mounts are nested: a file belongs to the one with the longest path.
		var inner mount
		for _, m := range mounts {
			if len(m.at) > len(inner.at) && (m.at == "/" || p == m.at || strings.HasPrefix(p, m.at+"/")) {
				inner = m
			}
		}
		// A path on no mount, such as a file in another namespace, is not counted.
		if inner.device != "" {
			device := wholeDisk(root, filepath.Base(inner.device))
			votes[device]++
			ofRoot[device] = inner.at == "/"
		}
	}

	for device := range votes {
		if len(votes) == 1 || !ofRoot[device] {
			out = append(out, device)
		}
	}

	slices.SortFunc(out,
		func(a, b string) int { return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a, b)) })
	return out
}

// wholeDisk returns the disk of a partition, or the device itself if it is not a partition.
func wholeDisk(root, device string) string {
	at := filepath.Join(root, "sys", "class", "block", device)
	if _, err := os.Stat(filepath.Join(at, "partition")); err != nil {
		return device
	}
	to, err := os.Readlink(at) // ../../devices/.../nvme1n1/nvme1n1p1
	if err != nil {
		return device
	}
	return filepath.Base(filepath.Dir(to))
}

// listensAt returns the lowest TCP port on which a process listens, among its open sockets, or 0.
func listensAt(root string, pid int, sockets map[string]bool) int {
	lowest := 0
	for _, l := range procfs.Listeners(filepath.Join(root, "proc", strconv.Itoa(pid), "net")) {
		if sockets[l.Inode] && (lowest == 0 || l.Port < lowest) {
			lowest = l.Port
		}
	}
	return lowest
}
