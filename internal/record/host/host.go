// Package host samples the machine it runs on: block devices, page cache, pressure and CPU from
// /proc, under node_exporter's names.
//
// It is the source that needs nothing installed, and the one to put beside a database's own
// metrics. Whether the journal's fdatasync waits for the device, or the device for the page cache
// being flushed (node_memory_Dirty_bytes falling while node_disk_written_bytes_total rises), shows
// only with both.
//
// One sample per second is right: samples every fifteen seconds blur a stall of eight. A sample is
// a few small reads of /proc and costs well under a millisecond of CPU.
//
// Times of devices are the kernel's: milliseconds, summed over requests, from queueing to
// completion (kernel: Documentation/admin-guide/iostats.rst); sectors there are 512 bytes, whatever
// the device's own. Pressure is in microseconds (kernel: Documentation/accounting/psi.rst). CPU
// times are in ticks of 1/100 s: USER_HZ, which is 100 on every architecture that Linux has kept.
//
// The cgroup that the process is in is sampled too, under cAdvisor's names (container_..., label
// id): its memory, CPU and I/O, their limits and its pressure, for version 1 and 2; and in addition
//
//	plimsoll_container_memory_file_dirty_bytes, ..._file_writeback_bytes   its part of the page cache's
//	plimsoll_container_memory_high_bytes, ..._memory_events_total          memory.high, and how often each limit was hit
//	plimsoll_container_io_limit_{reads,writes,read_bytes,write_bytes}_per_second   io.max, or blkio.throttle
//
// A limit may be on a parent group, as a pod's is: the group with the lowest limit of a resource is
// sampled beside the container's, up to the visible root.
//
// In a database's container that is the database's cgroup. In a container beside it, it is not: a
// cgroup that this process is alone in is not sampled, and only /proc and /sys, which containers
// share, say anything about the database. On the node, [OpenArg] samples the cgroup of another
// process: host?pid=4711, host?cgroup=/system.slice/postgresql.service.
//
// If the process is root, an Amazon EBS volume is asked which limit holds it back (NVMe log page
// 0xD0; package internal/record/ebs), under the names of aws-ebs-csi-driver. No other device is
// ever asked.
//
// Every ten seconds, the programs that write most are found, with the device of their files and the port
// at which they listen: the Facts writer.1 to writer.3.
//
// Every ten seconds, each mounted file system of a device is asked what space and inodes it has left,
// under node_exporter's names (node_filesystem_..., labels device and mountpoint).
//
// The kernel's writeback limits (vm.dirty_background_bytes and others), which decide how much the
// page cache collects before it floods a volume, are in the source's Facts, as are mounts, I/O
// schedulers and the cgroup's limits.
package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/ebs"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// fileBytesMax bounds one file under /proc: /proc/stat of a machine with
// thousands of CPUs and interrupts has some hundred KiB.
const fileBytesMax = 4 << 20

// Sniff reports whether an argument refers to this machine.
func Sniff(arg string, _ []byte) bool {
	word, _, _ := strings.Cut(arg, "?")
	return word == "host" || word == "local" || word == "localhost"
}

// A Describer asks a cloud provider what this machine is, and what the volumes are that are attached
// to it. It returns facts of the source, and notes about what it could not learn.
type Describer func(ctx context.Context, volumes []string) (facts map[string]string, notes []string)

// OpenArg opens this machine; after the word host, the argument may name the cgroup to sample.
// describe is called once if the machine has volumes of Amazon EBS, beside the sampling; nil asks
// nobody.
func OpenArg(arg string, describe Describer) (source.Source, error) {
	a, err := parse(arg)
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	return open("/", a, describe)
}

// Open prepares the machine with its /proc under root: "" or "/" is this one. (A container with the
// host's /proc under /host passes that.)
func Open(root string) (source.Source, error) {
	if root == "" {
		root = "/"
	}
	return open(root, address{}, nil)
}

func open(root string, a address, describe Describer) (source.Source, error) {
	if _, err := os.Stat(filepath.Join(root, "proc", "diskstats")); err != nil {
		return nil, fmt.Errorf("host: %w: the host source needs Linux with /proc mounted", err)
	}

	name := "host"
	if root != "/" {
		name = "host " + root
	}

	group, err := a.find(root)
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}

	if a != (address{}) {
		name += " " + group.id
	}

	return &machine{Polled: source.NewPolled(recording.Source{Kind: "host", Name: name}), root: root,
		group: group, describe: describe}, nil
}

// machine is a /proc that is read repeatedly; it implements source.Source.
type machine struct {
	*source.Polled
	root     string
	group    cgroup
	describe Describer
}

// Read implements source.Source, like source.Polled.Poll. A late sample (the machine stalls) has
// the time at which it was taken.
func (m *machine) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	s := newSampler(m.root, opt.Want)
	s.group = m.group
	defer s.files.close()
	s.note = func(n recording.Note) {
		n.Source = m.Describe().Name
		w.Note(n)
	}
	s.describe = func(volumes []ebs.Volume) <-chan description { return m.describer(ctx, volumes) }
	s.described = s.describe(s.ebs)
	err := m.Poll(ctx, w, opt, s)
	for _, text := range s.absent {
		w.Note(recording.Note{Kind: recording.NoteLimit, Source: m.Describe().Name, Text: text})
	}
	return err
}

// Sample implements source.Sampler.
func (s *sampler) Sample(_ context.Context, at time.Time) ([]recording.Batch, error) {
	if err := s.sample(at); err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	return []recording.Batch{s.batch}, nil
}

// factsMax bounds the facts of which some are of devices and mounts that are there no more.
const factsMax = 1024

// Tell implements source.Sampler. Devices are attached and file systems mounted while samples are
// taken, so everything is read again each time. Facts about what is gone stay, for its samples do.
func (s *sampler) Tell(d *recording.Source) {
	defer s.writers.tell(d)
	s.attached(volumesOf(s.root))
	f := facts(s.root)
	mountFacts(s.root, f)
	diskFacts(s.root, f)
	groupFacts(s.root, s.group, f)
	machineFacts(s.root, f)
	volumeFacts(s.ebs, f)
	f["cores"] = strconv.Itoa(s.cores)

	if s.memTotal > 0 {
		f["memory_bytes"] = strconv.FormatInt(s.memTotal, 10)
	}

	s.tellDescribed()
	maps.Copy(f, s.said)

	for name, value := range d.Facts {
		if _, known := f[name]; !known && len(f) < factsMax && !strings.HasPrefix(name, writerFact) {
			f[name] = value
		}
	}

	d.Facts = f
	d.Host = readText(s.root, "proc/sys/kernel/hostname")
}

// sysctls are the limits of the page cache: of bytes and ratio, the one that is not zero counts.
var sysctls = []string{
	"dirty_background_bytes", "dirty_background_ratio", "dirty_bytes", "dirty_ratio",
	"dirty_expire_centisecs", "dirty_writeback_centisecs", "swappiness",
}

func facts(root string) map[string]string {
	f := map[string]string{"os": "Linux"}
	for _, name := range sysctls {
		if v := readText(root, "proc/sys/vm/"+name); v != "" {
			f["vm."+name] = v
		}
	}
	if v := readText(root, "proc/sys/kernel/osrelease"); v != "" {
		f["kernel"] = "Linux " + v
	}
	return f
}

// readText is a small file's text, "" if it cannot be read.
func readText(root, name string) string {
	b, err := readFile(root, name)
	if err != nil || len(b) > 256 {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func readFile(root, name string) ([]byte, error) {
	f, err := os.Open(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1))
	if err == nil && len(b) > fileBytesMax {
		err = fmt.Errorf("%s: more than %d bytes", f.Name(), fileBytesMax)
	}
	return b, err
}

// sampler takes one sample of a machine after another.
type sampler struct {
	root   string
	files  *files
	want   func(string) bool
	series map[seriesKey]labels.Labels
	active map[string]bool // devices that have done I/O
	absent []string        // what this machine lacks
	told   map[string]bool

	cores    int
	memTotal int64

	group     cgroup
	above     map[string][]level // by a group's folder
	ebs       []ebs.Volume
	askVolume func(device string) (*ebs.StatsPage, error)
	describe  func([]ebs.Volume) <-chan description
	described <-chan description // nil: nobody is asked, or it has been told
	said      map[string]string  // what the provider said so far
	note      func(recording.Note)

	regrouping regrouping
	names      map[string]string // of devices by their numbers: "259:0"
	spaces     *spaces
	writers    *writers

	batch recording.Batch
	given map[seriesKey]bool // in this sample
}

type seriesKey struct{ metric, label, value, label2, value2 string }

func newSampler(root string, want func(string) bool) *sampler {
	return &sampler{
		root: root, files: newFiles(root), want: want, series: map[seriesKey]labels.Labels{},
		active: map[string]bool{}, told: map[string]bool{},
		group: findCgroup(root), above: map[string][]level{}, ebs: volumesOf(root),
		askVolume: func(device string) (*ebs.StatsPage, error) { return ebs.Read("/dev/" + device) },
		names:     map[string]string{}, spaces: newSpaces(root), writers: &writers{root: root},
		given: map[seriesKey]bool{},
	}
}

// sample reads the machine as it is now. Only a missing /proc/diskstats is an error; anything else
// that is missing is reported once and left out.
func (s *sampler) sample(at time.Time) error {
	s.batch.TimesMs = append(s.batch.TimesMs[:0], at.UnixMilli())
	s.batch.Columns = s.batch.Columns[:0]
	clear(s.given)

	b, err := s.files.read("proc/diskstats")
	if err != nil {
		return err
	}

	if err := s.diskstats(b); err != nil {
		return err
	}

	if len(s.names) == 0 && !s.told["devices"] {
		s.told["devices"] = true
		s.absent = append(
			s.absent, "the host does not show its devices: /proc/diskstats is empty, as in a sandbox without the node's /proc; run this on the node")
	}

	s.optional("proc/stat", "CPU times", s.stat)
	s.optional("proc/meminfo", "dirty memory", s.meminfo)
	s.optional("proc/vmstat", "write-back counters", s.vmstat)

	for _, resource := range []string{"io", "memory", "cpu"} {
		s.optional("proc/pressure/"+resource, resource+" pressure (a kernel with CONFIG_PSI, and psi=1)",
			func(b []byte) error { return s.pressure(resource, b) })
	}

	if !s.group.ours {
		s.regroup(at)
	}

	s.groups()
	s.volumes()
	s.filesystems(at)
	s.writers.look(at)

	return nil
}

func (s *sampler) optional(name, what string, take func([]byte) error) {
	b, err := s.files.read(name)
	if err == nil {
		err = take(b)
	}
	if err != nil && !s.told[name] {
		s.told[name] = true
		reason := err.Error()
		if errors.Is(err, os.ErrNotExist) {
			reason = "/" + name + " is missing"
		}
		s.absent = append(s.absent, "the host does not show "+what+": "+reason)
	}
}

// add puts one value into the batch.
func (s *sampler) add(value float64, k seriesKey) {
	if s.given[k] {
		return // a file that contains something twice
	}

	s.given[k] = true
	l, ok := s.series[k]
	if !ok {
		if s.want == nil || s.want(k.metric) {
			text := []string{labels.MetricName, k.metric}
			if k.label != "" {
				text = append(text, k.label, k.value)
			}
			if k.label2 != "" {
				text = append(text, k.label2, k.value2)
			}
			l = labels.FromStrings(text...)
		}
		s.series[k] = l
	}

	if !l.IsEmpty() {
		s.batch.Columns = append(s.batch.Columns, recording.Column{Labels: l, Values: []float64{value}})
	}
}
