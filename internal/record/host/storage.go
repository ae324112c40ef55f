package host

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/procfs"
)

const (
	// mountsMax bounds the devices whose mounts are reported, and mountsEach the mounts of each: a
	// node with many pods has thousands of mounts, most of them of the same few devices.
	mountsMax  = 64
	mountsEach = 4
	// disksMax bounds the devices whose scheduler is reported.
	disksMax = 256
)

// onDevices are the file systems that databases use.
var onDevices = []string{"ext4", "ext3", "xfs", "btrfs", "zfs", "f2fs"}

// A mount is a mounted file system that can hold a database.
type mount struct{ at, kind, options, device string }

// mountsOf returns the mounts that this process sees: of at most mountsMax devices, mountsEach
// each.
func mountsOf(root string) []mount {
	b, err := readFile(root, "proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return parseMounts(string(b))
}

func parseMounts(text string) (out []mount) {
	of := map[string]int{} // mounts by device
	for _, m := range procfs.ParseMounts(text) {
		if !slices.Contains(onDevices, m.FSType) {
			continue
		}
		// Bind mounts repeat a device many times; a few are enough to find it.
		if n := of[m.Source]; n == mountsEach || n == 0 && len(of) == mountsMax {
			continue
		}
		of[m.Source]++
		out = append(out, mount{m.Mountpoint, m.FSType, options(m.Options, m.VFSOptions), m.Source})
	}
	return out
}

// mountFacts adds the file system, options and device of each mount that can hold a database:
// "mount./var/lib/db" = "ext4 rw,noatime /dev/nvme1n1".
func mountFacts(root string, f map[string]string) {
	for _, m := range mountsOf(root) {
		f["mount."+m.at] = m.kind + " " + m.options + " " + m.device
	}
}

// options joins the options of a mount and of its file system, without duplicates.
func options(lists ...string) string {
	var out []string
	for _, l := range lists {
		for o := range strings.SplitSeq(l, ",") {
			if !slices.Contains(out, o) {
				out = append(out, o)
			}
		}
	}
	return strings.Join(out, ",")
}

// diskFacts adds each device's scheduler ("scheduler.nvme1n1" = "none"), its size in bytes, its
// model ("model.nvme1n1" = "Amazon Elastic Block Store"), and, for a device on top of others, the
// facts of [layerFacts].
func diskFacts(root string, f map[string]string) {
	entries, err := os.ReadDir(filepath.Join(root, "sys", "block"))
	if err != nil {
		return
	}

	n := 0
	for _, e := range entries {
		if virtual.MatchString(e.Name()) {
			continue
		}

		if n++; n > disksMax {
			return
		}

		at := "sys/block/" + e.Name()
		// sysfs counts in sectors of 512 bytes, whatever the device's block size is.
		if n, err := strconv.ParseInt(readText(root, at+"/size"), 10, 64); err == nil && n > 0 &&
			n <= math.MaxInt64/procfs.SectorBytes {
			f["size."+e.Name()] = strconv.FormatInt(n*procfs.SectorBytes, 10)
		}

		if v := readText(root, at+"/device/model"); v != "" {
			f["model."+e.Name()] = v
		}

		layerFacts(root, e.Name(), f)
		queue := at + "/queue/"
		if v := chosen(readText(root, queue+"scheduler")); v != "" {
			f["scheduler."+e.Name()] = v
		}

		for _, name := range []string{"nr_requests", "max_sectors_kb", "write_cache", "wbt_lat_usec"} {
			if v := readText(root, queue+name); v != "" {
				f[name+"."+e.Name()] = v
			}
		}
	}
}

// layerFacts adds, for a device on top of others, such as a stripe, the disks directly below it
// ("below.md0" = "nvme1n1 nvme2n1"), their number if there are several ("parts.md0" = "2"), its
// type ("layer.md0" = "raid5", "layer.dm-0" = "crypt"), device-mapper's name for it ("called.dm-0"
// = "data"), and background work of a RAID ("sync.md0" = "resync"; "idle" means none).
func layerFacts(root, device string, known map[string]string) {
	at := "sys/block/" + device
	parts, err := os.ReadDir(filepath.Join(root, at, "slaves"))
	if err != nil || len(parts) == 0 {
		return
	}

	if len(parts) > 1 {
		known["parts."+device] = strconv.Itoa(len(parts))
	}

	var below []string
	for _, p := range parts {
		name := p.Name()
		// The link to a partition ends in DISK/PARTITION, and the counters are those of the disk.
		if to, err := os.Readlink(filepath.Join(root, at, "slaves", name)); err == nil {
			disk := filepath.Base(filepath.Dir(to))
			if _, err := os.Stat(filepath.Join(root, "sys", "block", disk)); err == nil {
				name = disk
			}
		}
		if !slices.Contains(below, name) {
			below = append(below, name)
		}
	}

	known["below."+device] = strings.Join(below, " ")

	// Device-mapper's uuid begins with the subsystem that created the device: CRYPT-LUKS2-...,
	// LVM-..., mpath-....
	kind, _, found := strings.Cut(readText(root, at+"/dm/uuid"), "-")
	if level := readText(root, at+"/md/level"); level != "" {
		known["layer."+device] = level
	} else if found {
		known["layer."+device] = strings.ToLower(kind)
	}

	for fact, file := range map[string]string{"called.": "/dm/name", "sync.": "/md/sync_action"} {
		if v := readText(root, at+file); v != "" {
			known[fact+device] = v
		}
	}
}

// chosen returns the text in brackets: "[none] mq-deadline".
func chosen(text string) string {
	_, rest, ok := strings.Cut(text, "[")
	name, _, closed := strings.Cut(rest, "]")
	if !ok || !closed {
		return text
	}
	return name
}

// machineFacts adds the cloud, according to the firmware, and the type of an EC2 instance: on
// Nitro, the product name is the instance type. (Amazon EC2 User Guide, "Detect whether a host is
// an EC2 instance"; Linux, Documentation/ABI/stable/sysfs-class-dmi.) It uses no network.
func machineFacts(root string, f map[string]string) {
	const dmi = "sys/class/dmi/id/"
	switch vendor := readText(root, dmi+"sys_vendor"); {
	case vendor == "Amazon EC2":
		f["cloud"] = "aws"
		if name := readText(root, dmi+"product_name"); instanceType.MatchString(name) {
			f["instance_type"] = name
		}
	case vendor == "Google":
		f["cloud"] = "gcp"
	case vendor == "Microsoft Corporation" && readText(root, dmi+"chassis_asset_tag") == azureTag:
		f["cloud"] = "azure"
	case vendor == "Xen": // EC2 before Nitro, or any other host with Xen
		if strings.Contains(readText(root, dmi+"bios_version"), "amazon") {
			f["cloud"] = "aws"
		}
	case vendor != "":
		f["cloud"] = "none"
	}
}

// azureTag is the chassis tag of every virtual machine on Azure, and of no other machine on Hyper-V
// (cloud-init, sources/DataSourceAzure.py).
const azureTag = "7783-7084-3265-9085-8269-3286-77"

// instanceType matches m6i.xlarge, but not the names of other products.
var instanceType = regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)

// groupFacts adds the limits of the cgroup of this process.
func groupFacts(root string, g cgroup, f map[string]string) {
	add := func(fact, dir, name string) {
		if dir == "" {
			return
		}
		if v := readText(root, dir+"/"+name); v != "" {
			f["cgroup."+fact] = strings.ReplaceAll(v, "\n", "; ")
		}
	}

	for _, name := range []string{"memory.max", "memory.high", "cpu.max", "io.max"} {
		add(name, g.v2, name)
	}

	add("memory.limit_in_bytes", g.dir["memory"], "memory.limit_in_bytes")
	if v, ok := count(f["cgroup.memory.limit_in_bytes"]); ok && v >= unlimitedBytes {
		delete(f, "cgroup.memory.limit_in_bytes")
	}

	add("cpu.cfs_quota_us", g.dir["cpu"], "cpu.cfs_quota_us") // -1 means no quota
	for _, name := range []string{"read_iops", "write_iops", "read_bps", "write_bps"} {
		add("blkio."+name, g.dir["blkio"], "blkio.throttle."+name+"_device")
	}

	switch {
	case g.v2 != "":
		f["cgroup.version"] = "2"
	case len(g.dir) > 0:
		f["cgroup.version"] = "1"
	}
}
