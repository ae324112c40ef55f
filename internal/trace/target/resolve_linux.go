package target

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/trace/events"
)

// A Found is the current result of resolving a choice.
type Found struct {
	Processes []uint32
	Mounts    []events.Mount // file systems with the target's files
	Disks     []events.Disk
	ByDevice  bool     // trace all processes' calls on the mounts
	Folders   []string // if set, only files below these
	Rings     bool     // a process uses io_uring
	Notes     []string
}

// Find resolves a choice.
func Find(c Choice) (*Found, error) {
	inside := inContainer()
	if inside && !c.All && c.Path == "" {
		return nil, errNamespaced(c)
	}
	f, err := FindMore(c, nil)
	if err == nil && inside {
		f.Notes = append(f.Notes, noteNamespaced)
	}
	return f, err
}

// FindMore resolves a choice again, and scans only the files of unknown processes: scanning all of
// them takes 0.1 s on a server with hundreds of processes. Finding nothing new is not an error.
func FindMore(choice Choice, known map[uint32]bool) (*Found, error) {
	if choice.All {
		return findAll()
	}
	if choice.Path != "" {
		return findPath(choice.Path)
	}

	pids, err := processes(choice)
	if err != nil {
		return nil, err
	}

	first, found := pids[0], &Found{}
	pids = slices.DeleteFunc(pids, func(p int) bool { return known[uint32(p)] })
	if len(pids) == 0 {
		return found, nil
	}

	for _, p := range pids {
		found.Processes = append(found.Processes, uint32(p))
	}

	mounts, err := readMounts(first)
	if err != nil {
		return nil, &Error{fmt.Sprintf("process %d has ended", first), "specify a running process"}
	}

	devs := map[uint32]bool{}
	for _, p := range pids {
		o := filesOf(p, mounts)
		maps.Copy(devs, o.files)
		for _, d := range o.disks {
			found.disk(d)
		}
		found.Rings = found.Rings || o.rings
		if asynchronous(p) && !slices.Contains(found.Notes, noAIO) {
			found.Notes = append(found.Notes, noAIO)
		}
	}

	for _, m := range mounts {
		if !devs[m.Dev] {
			continue
		}
		if what, _ := Unseen(m.FSType); what != "" && m.Below == 0 {
			found.Notes = append(found.Notes, fmt.Sprintf("%s is %s: %s", m.Path, m.FSType, what))
		}
	}

	// The target may not have opened its files yet, so without any, all disks are watched.
	found.Mounts = onDisks(mounts, func(m *events.Mount) bool { return devs[m.Dev] })
	if len(found.Mounts) == 0 && len(found.Disks) == 0 {
		if len(known) > 0 {
			return found, nil // a new process without files, or one that has already ended
		}
		found.Mounts = onDisks(mounts, func(*events.Mount) bool { return true })
	}

	found.complete(mounts)
	if len(found.Disks) == 0 {
		return nil, &Error{fmt.Sprintf("%s has no files on a block device that is visible here",
			choice), "run the trace on the host with the disks"}
	}

	return found, nil
}

func findAll() (*Found, error) {
	mounts, err := readMounts(os.Getpid())
	if err != nil {
		return nil, err
	}
	f := &Found{ByDevice: true, Mounts: onDisks(mounts, func(*events.Mount) bool { return true })}
	f.complete(mounts)
	if len(f.Disks) == 0 {
		return nil,
			&Error{"no file system here is on a visible block device", "run the trace on the host with the disks"}
	}
	return f, nil
}

func findPath(path string) (*Found, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}

	if err != nil {
		// EvalSymlinks has no path to unwrap if a parent is a file.
		return nil, &Error{fmt.Sprintf("--path %s: %v", path, cmp.Or(errors.Unwrap(err), err)), "specify an existing folder"}
	}

	var st unix.Stat_t
	if err := unix.Stat(abs, &st); err != nil {
		return nil, &Error{fmt.Sprintf("--path %s: %v", path, err), "specify an existing folder"}
	}

	mounts, err := readMounts(os.Getpid())
	if err != nil {
		return nil, err
	}

	dev := mountDev(mounts, kernelDev(st.Dev), abs)
	found := &Found{ByDevice: true}
	for i := range mounts {
		mount := &mounts[i]
		if mount.Dev != dev || !strings.HasPrefix(abs+"/", strings.TrimSuffix(mount.Path, "/")+"/") {
			continue
		}

		what, fatal := Unseen(mount.FSType)
		if mount.Below != 0 {
			what, fatal = "", false
		}

		if fatal {
			return nil, &Error{fmt.Sprintf("%s is on %s: %s", path, mount.FSType, what), "specify a folder on a disk"}
		}

		if what != "" {
			found.Notes = append(found.Notes, fmt.Sprintf("%s is %s: %s", mount.Path, mount.FSType, what))
		}

		found.Mounts = onDisks([]events.Mount{*mount}, func(*events.Mount) bool { return true })
		if abs != mount.Path {
			found.Folders = []string{abs}
		}

		// Files on an overlay have two paths, and other files share the file system below it.
		if mount.Below != 0 {
			found.Folders = []string{abs, filepath.Join(mount.Upper, strings.TrimPrefix(abs, mount.Path))}
		}
	}

	found.complete(mounts)
	if len(found.Disks) == 0 {
		return nil, withoutDisk(path, typeOf(abs))
	}

	return found, nil
}

// typeOf returns the type of the file system below a path, judging by its magic number. This also
// works for file systems that are not among this process's mounts. It returns "" for unknown ones.
func typeOf(path string) string {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return ""
	}
	return magics[s.Type&(1<<32-1)]
}

// withoutDisk explains why a path without a known disk cannot be traced.
func withoutDisk(path, fsType string) *Error {
	what, fatal := Unseen(fsType)
	switch {
	case fatal:
		return &Error{fmt.Sprintf("%s is on %s: %s", path, strings.TrimSuffix(fsType, "."),
			what), "specify a folder on a disk"}
	case what != "":
		return &Error{fmt.Sprintf("%s is on %s, whose disks are not visible here; %s", path, fsType, what),
			"use --pid or --command: without a folder, the requests of all disks are traced"}
	}
	return &Error{"no known block device below " + path, "specify a folder on a disk, or use --pid"}
}

func (f *Found) disk(dev uint32) {
	if !slices.ContainsFunc(f.Disks, func(x events.Disk) bool { return x.Dev == dev }) {
		f.Disks = append(f.Disks, describeDisk(dev))
	}
}

// complete adds the disks of the mounts, and the other file systems on these disks: neighbours, and
// those below an overlay, which are not among a container's mounts.
func (f *Found) complete(all []events.Mount) {
	// The mounts may be those of a container. The file system below its overlay is only visible in
	// our own mounts.
	if slices.ContainsFunc(f.Mounts, func(m events.Mount) bool { return m.Below != 0 }) {
		if own, err := readMounts(os.Getpid()); err == nil {
			all = slices.Concat(all, own)
		}
	}

	for _, m := range f.Mounts {
		for _, d := range m.Disks {
			f.disk(d)
		}
	}

	for _, m := range onDisks(all, func(*events.Mount) bool { return true }) {
		shares := slices.ContainsFunc(m.Disks, func(d uint32) bool {
			return slices.ContainsFunc(f.Disks, func(x events.Disk) bool { return x.Dev == d })
		})
		if shares && !slices.ContainsFunc(f.Mounts, func(x events.Mount) bool { return x.Dev == m.Dev }) {
			f.Mounts = append(f.Mounts, m)
		}
	}
}

// onDisks returns the wanted mounts with disks below them, each file system once.
func onDisks(all []events.Mount, wanted func(*events.Mount) bool) []events.Mount {
	var out []events.Mount
	for i := range all {
		m := all[i]
		if !wanted(&m) || slices.ContainsFunc(out, func(x events.Mount) bool { return x.Dev == m.Dev }) {
			continue
		}
		if m.Disks = disksOf(&m); len(m.Disks) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// kernelDev converts a device number from stat's encoding to the kernel's own.
func kernelDev(dev uint64) uint32 { return unix.Major(dev)<<20 | unix.Minor(dev) }

// mountDev returns the device number of the mount that a file is on. On btrfs, files have the
// number of their subvolume, which is not that of any mount, so the mount is found by path.
func mountDev(mounts []events.Mount, dev uint32, path string) uint32 {
	var best *events.Mount
	for i := range mounts {
		m := &mounts[i]
		if m.Dev == dev {
			return dev
		}
		if strings.HasPrefix(path+"/", strings.TrimSuffix(m.Path, "/")+"/") &&
			(best == nil || len(m.Path) >= len(best.Path)) {
			best = m
		}
	}

	if best != nil && best.FSType == "btrfs" {
		return best.Dev
	}

	return dev
}

const noAIO = "it uses Linux AIO (io_submit): syncs, writes and reads submitted there are not traced as calls; their requests are, " +
	"for example as requests ahead of its other calls"

// asynchronous reports whether a process has created a Linux AIO context, whose ring is mapped into
// its memory.
func asynchronous(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err == nil && bytes.Contains(text, []byte("/[aio]"))
}

// An open describes a process's open files.
type open struct {
	files map[uint32]bool // devices of regular files
	disks []uint32        // disks below open block devices
	rings bool            // uses io_uring
}

func filesOf(pid int, mounts []events.Mount) (o open) {
	o.files = map[uint32]bool{}
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return o
	}

	for _, e := range entries {
		link, _ := os.Readlink(dir + "/" + e.Name()) // if it was closed in the meantime, stat fails too
		o.rings = o.rings || link == "anon_inode:[io_uring]"
		var st unix.Stat_t
		if unix.Stat(dir+"/"+e.Name(), &st) != nil {
			continue
		}

		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			o.files[mountDev(mounts, kernelDev(st.Dev), link)] = true
		case unix.S_IFBLK:
			o.disks = append(o.disks, disksBelow(kernelDev(st.Rdev))...)
		}
	}

	return o
}

// disksOf returns the whole disks below a file system. A btrfs file system has an anonymous device
// number, and may span several devices.
func disksOf(m *events.Mount) []uint32 {
	if m.Below != 0 {
		return disksBelow(m.Below)
	}
	if m.FSType != "btrfs" {
		return disksBelow(m.Dev)
	}

	names := []string{m.Source}
	if all, err := filepath.Glob("/sys/fs/btrfs/*/devices/" + filepath.Base(m.Source)); err == nil &&
		len(all) == 1 {
		if entries, err := os.ReadDir(filepath.Dir(all[0])); err == nil {
			names = nil
			for _, e := range entries {
				names = append(names, "/dev/"+e.Name())
			}
		}
	}

	var out []uint32
	for _, name := range names {
		var st unix.Stat_t
		if unix.Stat(name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFBLK {
			out = append(out, disksBelow(kernelDev(st.Rdev))...)
		}
	}

	slices.Sort(out)
	return slices.Compact(out)
}

// disksBelow returns the whole disks at the bottom of a device: below partitions, device-mapper and
// md.
func disksBelow(dev uint32) []uint32 {
	dir, err := filepath.EvalSymlinks(fmt.Sprintf("/sys/dev/block/%d:%d", dev>>20, dev&(1<<20-1)))
	if err != nil {
		return nil
	}

	// A partition's folder in sysfs is inside that of its disk.
	if _, err := os.Stat(dir + "/partition"); err == nil {
		dir = filepath.Dir(dir)
	}

	slaves, err := os.ReadDir(dir + "/slaves")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	var out []uint32
	for _, s := range slaves {
		if d, ok := readDev(dir + "/slaves/" + s.Name()); ok && d != dev {
			out = append(out, disksBelow(d)...)
		}
	}

	if len(out) == 0 {
		if d, ok := readDev(dir); ok {
			out = []uint32{d}
		}
	}

	slices.Sort(out)
	return slices.Compact(out)
}

// Disk returns the name of the disk below a file system, given its device number; "" if there is
// none or more than one.
func Disk(dev uint32) string {
	if disks := disksBelow(dev); len(disks) == 1 {
		return describeDisk(disks[0]).Name
	}
	return ""
}

func readDev(dir string) (uint32, bool) {
	text, err := os.ReadFile(dir + "/dev")
	if err != nil {
		return 0, false
	}
	major, minor, ok := numbers(strings.TrimSpace(string(text)))
	return major<<20 | minor, ok
}

// describeDisk reads a disk's name and queue settings.
func describeDisk(dev uint32) events.Disk {
	d := events.Disk{Dev: dev, Name: fmt.Sprintf("%d:%d", dev>>20, dev&(1<<20-1))}
	dir, err := filepath.EvalSymlinks("/sys/dev/block/" + d.Name)
	if err != nil {
		return d
	}

	d.Name = filepath.Base(dir)
	if text, err := os.ReadFile(dir + "/queue/scheduler"); err == nil {
		if _, rest, ok := strings.Cut(string(text), "["); ok {
			d.Scheduler, _, _ = strings.Cut(rest, "]")
		}
	}

	if text, err := os.ReadFile(dir + "/queue/nr_requests"); err == nil {
		d.NrRequests, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}

	return d
}
