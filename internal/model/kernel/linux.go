// Package kernel models what Linux does between an engine and its volume: the page cache and its
// writeback, fdatasync, the file system's journal, the block layer's counters, the cores.
//
// Many stalls start here. A buffered write is free when it is made: it only dirties pages. The
// pages are written out later, in a burst: when a file's oldest dirty page is older than
// dirty_expire (30 s), when dirty bytes exceed the background limit, or when a process calls
// fdatasync. Requests submitted to the volume after the burst are queued behind it. If one of them
// is the fdatasync of a journal, every writer of the database is blocked by it.
//
// Threads that bypass the page cache compete for the block layer's slots ([Device.Start]); all
// other requests get slots in order of arrival.
//
// Not modelled: I/O schedulers, the dirty and I/O limits of cgroups (a volume's cap acts like one),
// pages read back into the cache, and randomness. Simplified: writers over the limit stop at the
// midpoint of the two limits, while the kernel slows them down gradually from there; the flusher
// switches between files every 4 MiB, while the kernel's slices grow with the measured bandwidth;
// every commit writes two journal blocks, without batching the changes of several files and without
// checkpointing the journal.
package kernel

import (
	"math"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A FileSystem is the layer between files and their device.
type FileSystem string

// The file systems modelled. Their journals cost the same here: 5,014 appends of 2,300 B with
// fdatasync cost 10,646 volume writes and 7,830 flushes on either (measured, kernel 6.18).
const (
	XFS  FileSystem = "xfs"
	Ext4 FileSystem = "ext4"
)

// A Config is the part of a host that matters for storage.
type Config struct {
	Cores  int        `yaml:"cores"`  // cores the engine may use
	Memory units.Size `yaml:"memory"` // of the machine, or the container's limit
	// CPUQuota is the CPU time that the engine's container may use, as a share of one core like
	// systemd's CPUQuota: 150% is one and a half cores. Once the quota of a 100 ms period is used
	// up, all threads of the container stop until the period ends. 0 means no quota.
	CPUQuota units.Ratio `yaml:"cpu_quota"`
	// DirtyBackground and Dirty are vm.dirty_background_bytes and vm.dirty_bytes; 0 means the ratios
	// apply.
	DirtyBackground units.Size `yaml:"dirty_background_bytes"`
	Dirty           units.Size `yaml:"dirty_bytes"`
	// The ratios refer to available memory: 10 % and 20 % (Documentation/admin-guide/sysctl/vm.rst).
	DirtyBackgroundRatio units.Ratio `yaml:"dirty_background_ratio"`
	DirtyRatio           units.Ratio `yaml:"dirty_ratio"`
	// DirtyExpire is vm.dirty_expire_centisecs (30 s), WritebackInterval
	// vm.dirty_writeback_centisecs (5 s); as in the kernel, 0 disables periodic writeback.
	DirtyExpire       units.Duration `yaml:"dirty_expire"`
	WritebackInterval units.Duration `yaml:"writeback_interval"`
	FileSystem        FileSystem     `yaml:"filesystem"`
	// MountOptions apply to every volume's file system in addition to its defaults, and Scheduler to
	// every volume's queue. The lab sets both; the model ignores them (see Unmodelled).
	MountOptions MountOptions `yaml:"mount_options"`
	Scheduler    Scheduler    `yaml:"scheduler"`
	// WbtLatUsec is the target of the block layer's writeback throttling (block/blk-wbt.c), in
	// microseconds: /sys/block/DEVICE/queue/wbt_lat_usec. The kernel's default is 2000 on devices
	// that do not rotate, 0 turns it off, and so does the scheduler bfq. It bounds the buffered
	// writes that a device has in flight: to one at a time while reads take longer than that, to
	// three quarters of the queue while nothing is read.
	WbtLatUsec int `yaml:"wbt_lat_usec"`
	// NrRequests limits the requests that the block layer keeps in flight for a volume whose product
	// does not define a limit, that is, a custom volume without queue_slots:
	// /sys/block/DEVICE/queue/nr_requests, usually 128 (BLKDEV_DEFAULT_RQ). 0 means unlimited.
	NrRequests int `yaml:"nr_requests"`
	// WritebackDepth, if not 0, replaces writeback throttling with a fixed bound on buffered writes
	// in flight, independent of reads.
	WritebackDepth int `yaml:"writeback_depth"`
	// Wakeup is the cost of running first on a core that has been idle for a millisecond: the core
	// has to wake up, and its caches are cold. 0 means none, as on busy hardware. A virtual machine
	// with two cores took about 300 us (measured on one volume with one fdatasync latency: etcd
	// answers one busy client in 0.98 ms, 300 requests per second in 1.47 ms, 50 in 1.92 ms).
	Wakeup units.Duration `yaml:"wakeup"`
	// MaxRequest is the largest request: the block layer's max_sectors_kb.
	MaxRequest units.Size `yaml:"max_request"`
}

// Defaults are the kernel's, on four cores and 16 GiB.
func Defaults() Config {
	return Config{
		Cores: 4, Memory: 16 * units.GiB,
		DirtyBackgroundRatio: 0.10, DirtyRatio: 0.20,
		DirtyExpire: units.Duration(30 * time.Second), WritebackInterval: units.Duration(5 * time.Second),
		FileSystem: XFS, Scheduler: NoScheduler, WbtLatUsec: 2000, NrRequests: 128, MaxRequest: 256 * units.KiB,
	}
}

// PageSize is the page cache's unit.
const PageSize = 4 * units.KiB

// A Host is a machine.
type Host struct {
	cfg        Config
	clock      *vtime.Clock
	seed       random.Seed
	cores      []vtime.Instant // when each is free
	lastFree   int             // the core that becomes free last; if several do, the first of them
	quota      quota
	used       []time.Duration // CPU time used on each, up to then
	devices    []*Device
	files      []*File
	dirty      units.Size // in the page cache, of all files
	background units.Size // limits, in bytes
	freerun    units.Size
	limit      units.Size
	unpolled   int64 // pages dirtied since the total was last checked
	poll       int64 // the number after which it is checked
	waiting    pressure
	sharesAt   vtime.Instant // number of the period up to which devices' shares are aged
	jobs       []job
	idle       []int // numbers of finished jobs

	requestPages int64 // pages in one request
}

// NewHost makes a host. cfg must pass Check. Randomness, determined by the seed, decides which of several
// threads runs first; see [Device.Start].
func NewHost(cfg Config, clock *vtime.Clock, seed random.Seed) *Host {
	h := &Host{
		cfg: cfg, clock: clock, seed: seed,
		cores: make([]vtime.Instant, cfg.Cores), used: make([]time.Duration, cfg.Cores),
		quota:        newQuota(cfg.CPUQuota),
		requestPages: int64(cfg.MaxRequest / PageSize),
	}

	limit := cfg.Dirty
	if limit == 0 {
		limit = units.Size(float64(cfg.Memory) * float64(cfg.DirtyRatio))
	}

	h.background = cfg.DirtyBackground
	if h.background == 0 {
		h.background = units.Size(float64(cfg.Memory) * float64(cfg.DirtyBackgroundRatio))
	}

	// The kernel does the same if the background limit is not below the dirty limit
	// (domain_dirty_limits).
	if h.background >= limit {
		h.background = limit / 2
	}

	h.freerun, h.limit = (h.background+limit)/2, limit
	return h
}

// Config returns the host's configuration.
func (h *Host) Config() Config { return h.cfg }

// DirtyBytes returns what the page cache holds that is not yet under writeback.
func (h *Host) DirtyBytes() units.Size { return h.dirty }

// BackgroundLimit returns the number of dirty bytes above which the flusher starts.
func (h *Host) BackgroundLimit() units.Size { return h.background }

// Busy reports whether no core is free now.
func (h *Host) Busy() bool {
	now := h.clock.Now()
	for _, free := range h.cores {
		if free <= now {
			return false
		}
	}
	return true
}

// asleep is how long a core must be idle before being first to run on it has a cost; see Config.Wakeup.
const asleep = time.Millisecond

// CPU reserves a core for d, starting now at the earliest. If cores are idle, it takes the one used
// most recently, because the kernel wakes a thread on the core where it last ran and whose caches
// are warm. Otherwise it takes the core that becomes free first.
func (h *Host) CPU(now vtime.Instant, d time.Duration) (start, done vtime.Instant) {
	least := h.lastFree
	if h.cores[least] > now { // not all are free
		least = h.nextCore(now)
	}

	start = max(now, h.cores[least])
	if start.Sub(h.cores[least]) >= asleep {
		start = start.Add(h.cfg.Wakeup.Std())
	}

	if done = start.Add(d); h.quota.each > 0 {
		done = h.quota.book(start, d)
	}

	h.cores[least] = done
	h.used[least] += d
	if last := h.cores[h.lastFree]; done > last || done == last && least < h.lastFree {
		h.lastFree = least
	}

	return start, done
}

// nextCore returns the core to use: the idle one used most recently, or if none is idle, the one
// that becomes free first. The loop has no branches, because the branch predictor cannot guess the
// core.
func (h *Host) nextCore(now vtime.Instant) int {
	// later is all ones if one instant is after the other, otherwise 0. Negating the idle cores'
	// instants turns both rules into one: take the largest value.
	least, best := 0, vtime.Instant(math.MinInt64/2)
	for i, free := range h.cores {
		later := (now - free) >> 63
		free = (free ^ later) - later // negative
		later = (best - free) >> 63
		best += (free - best) & later
		least += (i - least) & int(later)
	}
	return least
}
