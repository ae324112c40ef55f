// Package host samples the machine that it runs on: block devices, page cache, pressure and CPU
// from /proc, with node_exporter's names.
//
// This source needs nothing to be installed. Use it together with a database's own metrics: only both
// together show whether the journal's fdatasync waits for the device, or the device for a flush of the page
// cache (node_memory_Dirty_bytes falls while node_disk_written_bytes_total rises).
//
// The right period is one second: samples every fifteen seconds blur a stall of eight. A sample is
// a few small reads of /proc and costs well under a millisecond of CPU time.
//
// Device times are the kernel's: milliseconds, summed over requests, from queueing to completion
// (kernel: Documentation/admin-guide/iostats.rst); its sectors have 512 bytes, regardless of the
// device. Pressure is in microseconds (kernel: Documentation/accounting/psi.rst). CPU times are in
// ticks of 1/100 s (USER_HZ, which is 100 on every architecture that Linux still supports).
//
// The package also samples the cgroup of the process, with cAdvisor's names (container_..., label
// id): its memory, CPU and I/O, their limits and its pressure, for versions 1 and 2, and in
// addition
//
//	plimsoll_container_memory_file_dirty_bytes, ..._file_writeback_bytes   its share of the page cache's
//	plimsoll_container_memory_high_bytes, ..._memory_events_total          memory.high, and how often each limit was hit
//	plimsoll_container_io_limit_{reads,writes,read_bytes,write_bytes}_per_second   io.max, or blkio.throttle
//
// A limit may be on a parent group, like that of a pod: for each resource, the group with the
// lowest limit is sampled in addition to the container's, up to the visible root.
//
// In a database's container that is the database's cgroup. In a sidecar container it is not: a
// cgroup with only this process is not sampled, and only /proc and /sys, which containers share,
// describe the database. On the node, [OpenArg] samples the cgroup of another process:
// host?pid=4711, host?cgroup=/system.slice/postgresql.service.
//
// As root, it queries Amazon EBS volumes for the limit that throttles them (NVMe log page 0xD0; package
// internal/record/ebs), with the names of aws-ebs-csi-driver. It never sends such a request to any
// other device.
//
// Every ten seconds, it finds the programs that write the most, with the device of their files and
// the port that they listen on: the Facts writer.1 to writer.3.
//
// Every ten seconds, it reads the free space and inodes of each mounted file system of a device,
// with node_exporter's names (node_filesystem_..., labels device and mountpoint).
//
// The source's Facts contain the kernel's writeback limits (vm.dirty_background_bytes and others),
// which decide how much the page cache collects before it floods a volume, and the mounts, I/O
// schedulers and limits of the cgroup.
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

// fileBytesMax bounds a file under /proc. /proc/stat of a machine with thousands of CPUs and
// interrupts has several hundred KiB.
const fileBytesMax = 4 << 20

// Sniff reports whether an argument refers to this machine.
func Sniff(arg string, _ []byte) bool {
	word, _, _ := strings.Cut(arg, "?")
	return word == "host" || word == "local" || word == "localhost"
}

// A Describer queries a cloud provider about this machine and the attached volumes. It returns
// facts for the source, and notes about what it could not find out.
type Describer func(ctx context.Context, volumes []string) (facts map[string]string, notes []string)

// OpenArg opens this machine; after the word host, the argument may select the cgroup to sample.
// describe is called once, in the background, if the machine has Amazon EBS volumes; it may be nil.
func OpenArg(arg string, describe Describer) (source.Source, error) {
	a, err := parse(arg)
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	return open("/", a, describe)
}

// Open prepares the machine whose /proc is under root: "" or "/" is this machine. (A container with
// the host's /proc under /host passes that.)
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

// Read implements source.Source, using source.Polled.Poll. A sample that is late because the machine stalls
// has the time at which it was taken.
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

// factsMax bounds the facts, which may include devices and mounts that no longer exist.
const factsMax = 1024

// AddFacts implements source.Sampler. Devices and file systems come and go during a recording, so
// everything is read again each time. Facts about those that are gone remain, like their samples.
func (s *sampler) AddFacts(d *recording.Source) {
	defer s.writers.addFacts(d)
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

	s.addDescribed()
	maps.Copy(f, s.said)

	// Facts about devices that are gone are kept up to a bound, except for writers, which are only
	// valid now.
	for name, value := range d.Facts {
		if _, known := f[name]; !known && len(f) < factsMax && !strings.HasPrefix(name, writerFact) {
			f[name] = value
		}
	}

	d.Facts = f
	d.Host = readText(s.root, "proc/sys/kernel/hostname")
}

// sysctls are the limits of the page cache. Of each pair of bytes and ratio, the nonzero one
// applies.
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

// readText returns the text of a small file, or "" if it cannot be read.
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

// sampler takes the samples of a machine.
type sampler struct {
	root   string
	files  *files
	want   func(string) bool
	series map[seriesKey]labels.Labels
	active map[string]bool // devices that have done I/O
	absent []string        // notes about what this machine does not have
	noted  map[string]bool // to note each of these only once

	cores    int
	memTotal int64

	group     cgroup
	ebs       []ebs.Volume
	askVolume func(device string) (*ebs.StatsPage, error)
	describe  func([]ebs.Volume) <-chan description
	described <-chan description // nil if there is no query, or its answer has been added
	said      map[string]string  // the provider's facts so far
	note      func(recording.Note)

	regrouping regrouping
	names      map[string]string // names of devices by their numbers: "259:0"
	spaces     *spaces
	writers    *writers

	batch recording.Batch
	given map[seriesKey]bool // series of this sample
}

type seriesKey struct{ metric, label, value, label2, value2 string }

func newSampler(root string, want func(string) bool) *sampler {
	return &sampler{
		root: root, files: newFiles(root), want: want, series: map[seriesKey]labels.Labels{},
		active: map[string]bool{}, noted: map[string]bool{},
		group: findCgroup(root), ebs: volumesOf(root),
		askVolume: func(device string) (*ebs.StatsPage, error) { return ebs.Read("/dev/" + device) },
		names:     map[string]string{}, spaces: newSpaces(root), writers: &writers{root: root},
		given: map[seriesKey]bool{}, note: func(recording.Note) {},
	}
}

// sample reads the current state of the machine. Only a missing /proc/diskstats is an error; other
// missing files are skipped and noted once.
func (s *sampler) sample(at time.Time) error {
	// The batch and its columns are reused, because a sample is taken every second.
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

	// Names are kept once seen, so this is noted only if the machine never showed a device.
	if len(s.names) == 0 {
		s.lack("devices", "no devices are visible: /proc/diskstats is empty, as in a sandbox without the node's /proc; run Plimsoll on the node")
	}

	s.optional("proc/stat", "CPU times", s.stat)
	s.optional("proc/meminfo", "dirty memory", s.meminfo)
	s.optional("proc/vmstat", "write-back counters", s.vmstat)

	for _, resource := range []string{"io", "memory", "cpu"} {
		s.optional("proc/pressure/"+resource, resource+" pressure (a kernel with CONFIG_PSI, and psi=1)",
			func(b []byte) error { return s.pressure(resource, b) })
	}

	// Our own cgroup exists as long as this process; another one may be removed and replaced.
	if !s.group.ours {
		s.regroup(at)
	}

	s.groups()
	s.volumes()
	s.filesystems(at)
	s.writers.update(at)

	return nil
}

func (s *sampler) optional(name, what string, parse func([]byte) error) {
	b, err := s.files.read(name)
	if err == nil {
		err = parse(b)
	}
	if err != nil {
		reason := err.Error()
		if errors.Is(err, os.ErrNotExist) {
			reason = "/" + name + " is missing"
		}
		s.lack(name, "the host does not provide "+what+": "+reason)
	}
}

// lack notes once what this machine does not have: without root, each sample would fail in the same way.
func (s *sampler) lack(name, text string) {
	if !s.noted[name] {
		s.noted[name] = true
		s.absent = append(s.absent, text)
	}
}

// add adds one value to the batch.
func (s *sampler) add(value float64, k seriesKey) {
	if s.given[k] {
		return // the file contains it twice
	}

	s.given[k] = true
	l, ok := s.series[k]
	if !ok {
		// A series that is not wanted is cached with empty labels, so that want is called only
		// once.
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
