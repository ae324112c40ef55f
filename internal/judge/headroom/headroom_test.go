package headroom_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/judge/headroom/offers"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/record/timeline"
	"plimsoll/internal/testkit"
)

var began = time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)

// recorded is a case whose signals are given cell by cell.
type recorded struct {
	*rules.Case
	tracks map[*rules.Signal][]timeline.Track
}

func record(step time.Duration, cells int) *recorded {
	r := &recorded{tracks: map[*rules.Signal][]timeline.Track{}}
	grid := timeline.NewGrid(began.Add(step), began.Add(time.Duration(cells)*step), step)
	r.Case = rules.NewCase(testkit.Pack(), grid, func(s *rules.Signal) []timeline.Track { return r.tracks[s] })
	r.Sampled(map[string]float64{})
	return r
}

// add adds a series of a signal that depends on the seconds since the beginning.
func (r *recorded) add(s *rules.Signal, label, value string, of func(seconds float64) float64) *recorded {
	t := timeline.Track{Labels: labels.FromStrings(label, value), Values: make([]float64, r.Grid.N)}
	for k := range t.Values {
		t.Values[k] = of(float64(k) * r.Grid.StepSeconds())
	}
	r.Periods[s.Name] = r.Grid.StepSeconds()
	r.tracks[s] = append(r.tracks[s], t)
	return r
}

func always(x float64) func(float64) float64 { return func(float64) float64 { return x } }

func find(t *testing.T, r headroom.Result, resource, subject string) headroom.Headroom {
	t.Helper()
	for _, h := range r.All {
		if h.Resource == resource && (subject == "" || h.Subject == subject) {
			return h
		}
	}
	t.Fatalf("no %s of %q in %+v", resource, subject, r.All)
	return headroom.Headroom{}
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}

func known(name string, o catalog.Order) headroom.Options {
	return headroom.Options{Known: offers.Known(nil, map[string]catalog.Order{name: o}, nil, "")}
}

// A gp2 of 50 GiB has 5.4 million credits and earns 150 per second. At 290 operations per second they
// last 38,571 s.
func TestCreditsEnd(t *testing.T) {
	r := record(time.Second, 7200).add(rules.DiskOps, "device", "nvme1n1", always(290)).add(rules.DiskMoved, "device", "nvme1n1", always(290*8192))
	opt := known("data", catalog.Order{Type: "gp2", Size: 50 * units.GiB})
	got := headroom.Of(r.Case, opt)
	h := find(t, got, "volume_credits", "nvme1n1")
	near(t, "balance left", *h.Limit-h.Most.Value, 5.4e6-7200*140, 1)

	if h.Ends == nil || !h.Ends.Exact || !strings.Contains(h.Ends.Assumes, "full") {
		t.Fatalf("ends %+v", h.Ends)
	}

	near(t, "ends in", h.Ends.InS, 5.4e6/140-7200, 1)
	if got.All[0].Resource != "volume_credits" {
		t.Errorf("the first is %s", got.All[0].Resource)
	}

	if !strings.Contains(h.LimitText, "busiest device") {
		t.Errorf("it is not said that the device is a guess: %s", h.LimitText)
	}

	// Watching for longer shows the balance.
	opt.Balances = got.Balances
	later := record(time.Second, 7200)
	later.Grid = timeline.NewGrid(began.Add(3601*time.Second), began.Add(3*time.Hour), time.Second)
	later.Case = rules.NewCase(testkit.Pack(), later.Grid, func(s *rules.Signal) []timeline.Track { return r.tracks[s] })
	h = find(t, headroom.Of(later.Case, opt), "volume_credits", "nvme1n1")
	near(t, "ends in, an hour later", h.Ends.InS, 5.4e6/140-10800, 1)
}

// If fewer operations are used than earned, no credits run out.
func TestCreditsThatDoNotEnd(t *testing.T) {
	r := record(time.Second, 600).add(rules.DiskOps, "device", "data", always(140))
	h := find(t, headroom.Of(r.Case, known("data", catalog.Order{Type: "gp2", Size: 50 * units.GiB})), "volume_credits", "data")
	if h.Ends != nil || h.Most.Value != 0 {
		t.Errorf("%+v ends %+v", h.Most, h.Ends)
	}
}

// st1's credits are bytes: a volume of 500 GiB holds 500 GiB of credits, and earns 20 MiB/s.
func TestByteCreditsEnd(t *testing.T) {
	rate := 60.0 * float64(units.MiB)
	r := record(time.Second, 1000).add(rules.DiskOps, "device", "data", always(60)).add(rules.DiskMoved, "device", "data", always(rate))
	h := find(t, headroom.Of(r.Case, known("data", catalog.Order{Type: "st1", Size: 500 * units.GiB})), "volume_credits", "data")
	drain := rate - 40*500.0/1024*float64(units.MiB)
	near(t, "ends in", h.Ends.InS, 500*float64(units.GiB)/drain-1000, 2)
	if h.Unit != "bytes" {
		t.Errorf("unit %s", h.Unit)
	}
}

// Premium SSD has a bucket of operations and one of bytes: 128 GiB can exceed their baseline by 70 MB/s
// for 30 minutes.
func TestTwoBuckets(t *testing.T) {
	r := record(time.Second, 600).add(rules.DiskOps, "device", "data", always(400)).add(rules.DiskMoved, "device", "data", always(110e6))
	all := headroom.Of(r.Case, known("data", catalog.Order{Type: "premium-ssd", Size: 128 * units.GiB}))
	h := find(t, all, "volume_byte_credits", "data")
	if h.Ends == nil || h.Unit != "bytes" {
		t.Fatalf("%+v", h)
	}
	near(t, "ends in", h.Ends.InS, 70e6*1800/10e6-600, 2)
	if h := find(t, all, "volume_credits", "data"); h.Ends != nil {
		t.Errorf("operations end: %+v", h.Ends)
	}
}

// A rate that stays at the baseline while requests queue shows that no credits are left.
func TestSpentCredits(t *testing.T) {
	burst := func(s float64) float64 { return map[bool]float64{true: 150, false: 100}[s >= 300] }
	r := record(time.Second, 600).add(rules.DiskOps, "device", "data", burst).add(rules.DiskMoved, "device", "data", always(150*8192)).
		add(rules.DiskBusy, "device", "data", func(s float64) float64 { return burst(s) / 150 }).
		add(rules.DiskQueue, "device", "data", func(s float64) float64 { return map[bool]float64{true: 40 + math.Mod(s, 50), false: 1}[s >= 300] })
	h := find(t, headroom.Of(r.Case, known("data", catalog.Order{Type: "gp2", Size: 50 * units.GiB})), "volume_credits", "data")
	near(t, "share used", *h.Most.Ratio, 1, 1e-9)
}

// Five seconds at the cap in each minute are found at one second. One-minute means hide them, and the
// report says so.
func TestMicrobursts(t *testing.T) {
	load := func(s float64) float64 {
		if math.Mod(s, 60) >= 20 && math.Mod(s, 60) < 25 {
			return 3000
		}
		return 100
	}

	opt := known("data", catalog.Order{Type: "gp3", Size: 500 * units.GiB})
	h := find(t, headroom.Of(record(time.Second, 1800).add(rules.DiskOps, "device", "data", load).Case, opt), "volume_iops", "data")
	near(t, "most", *h.Most.Ratio, 1, 1e-9)

	if h.Bursts == nil || h.NotSeen != "" {
		t.Fatalf("bursts %+v, not seen %q", h.Bursts, h.NotSeen)
	}

	near(t, "seconds", h.Bursts.Seconds, 150, 0)
	near(t, "longest", h.Bursts.LongestS, 5, 0)
	near(t, "period", h.Bursts.PeriodS, 60, 0.5)
	near(t, "a minute's mean", h.Bursts.MinuteRatio, (5*3000+55*100)/60.0/3000, 1e-6)

	mean := (5*3000 + 55*100) / 60.0
	h = find(t, headroom.Of(record(time.Minute, 30).add(rules.DiskOps, "device", "data", always(mean)).Case, opt), "volume_iops", "data")
	if h.Bursts != nil || !strings.Contains(h.NotSeen, "60.0 s") {
		t.Errorf("at a minute: bursts %+v, not seen %q", h.Bursts, h.NotSeen)
	}

	// One-minute samples remain such on a grid of seconds that another source needs.
	r := record(time.Second, 1800).add(rules.DiskOps, "device", "data", always(mean))
	r.Sampled(map[string]float64{rules.DiskOps.Name: 60})
	h = find(t, headroom.Of(r.Case, opt), "volume_iops", "data")
	if h.IntervalS != 60 || h.NotSeen == "" {
		t.Errorf("interval %v, not seen %q", h.IntervalS, h.NotSeen)
	}
}

// Unknown is not zero.
func TestUnknownLimit(t *testing.T) {
	r := record(time.Second, 60).add(rules.DiskOps, "device", "sda", always(10))
	h := find(t, headroom.Of(r.Case, headroom.Options{}), "volume_iops", "sda")
	if h.Limit != nil || h.Most == nil || h.Most.Ratio != nil || h.LimitFrom != headroom.Unknown || !strings.Contains(h.LimitText, "--volume sda=") {
		t.Errorf("%+v", h)
	}
	for _, h := range headroom.Of(r.Case, headroom.Options{}).All {
		if h.Resource != "volume_iops" {
			t.Errorf("made up: %+v", h)
		}
	}
	h = find(t, headroom.Of(r.Case, headroom.Options{Known: offers.Known(nil, map[string]catalog.Order{"data": {Type: "gp3"}, "wal": {Type: "gp3"}}, nil, "")}), "volume_iops", "wal")
	if h.Most != nil || h.Limit != nil || !strings.Contains(h.LimitText, "--device wal=") {
		t.Errorf("a volume without a device: %+v", h)
	}
}

// Space that fills steadily, with noise, runs out within its interval.
func TestSpaceEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	gb := 1e9
	day := 86400.0
	r := record(time.Hour, 30*24).add(rules.FilesystemSize, "device", "sdb", always(1000*gb)).
		add(rules.FilesystemAvailable, "device", "sdb", func(s float64) float64 { return 400*gb - 10*gb*s/day + rng.NormFloat64()*2*gb })

	h := find(t, headroom.Of(r.Case, headroom.Options{}), "filesystem_space", "sdb")
	if h.Trend == nil || h.Ends == nil || h.Ends.Exact {
		t.Fatalf("%+v, %+v", h.Trend, h.Ends)
	}

	near(t, "a day", h.Trend.PerS*day/gb, 10, 0.3)
	near(t, "ends in days", h.Ends.InS/day, 10, 0.5)
	if !(h.Ends.LowS < h.Ends.InS && h.Ends.InS < h.Ends.HighS) {
		t.Errorf("interval %+v", h.Ends)
	}

	if h.Ends.Then != "writes fail" {
		t.Errorf("then %q", h.Ends.Then)
	}
}

// If the host and the database on it report the same file system, it is one limit. A file system that
// only the database reports is another.
func TestSpaceOfTwoSources(t *testing.T) {
	r := record(time.Second, 60).add(rules.FilesystemSize, "device", "sdb", always(100e9)).
		add(rules.FilesystemAvailable, "device", "sdb", func(s float64) float64 { return 40e9 - 1e6*math.Floor(s/10) }).
		add(rules.MountSize, "mount_point", "/var/lib/db", always(100e9)).
		add(rules.MountAvailable, "mount_point", "/var/lib/db", func(s float64) float64 { return 40e9 - 1e5*s }).
		add(rules.MountSize, "mount_point", "/", always(50e9)).add(rules.MountAvailable, "mount_point", "/", always(10e9))

	r.Facts = map[string]string{"mount./var/lib/db": "xfs rw,noatime /dev/sdb", "mount./": "ext4 rw /dev/sda1"}
	var subjects []string
	for _, h := range headroom.Of(r.Case, headroom.Options{}).All {
		if h.Resource == "filesystem_space" {
			subjects = append(subjects, h.Subject)
		}
	}

	slices.Sort(subjects)
	if got := strings.Join(subjects, " "); got != "/ sdb" {
		t.Errorf("space of %s, want that of / and sdb", got)
	}
}

// One hour of data cannot show that space runs out in a year, and usage that rises and falls does not
// run out at all.
func TestNoEndThatIsNotCarried(t *testing.T) {
	far := record(time.Second, 3600).add(rules.FilesystemSize, "device", "sdb", always(1e12)).
		add(rules.FilesystemAvailable, "device", "sdb", func(s float64) float64 { return 4e11 - 1e4*s })
	if h := find(t, headroom.Of(far.Case, headroom.Options{}), "filesystem_space", "sdb"); h.Ends != nil || h.Trend == nil {
		t.Errorf("ends %+v, trend %+v", h.Ends, h.Trend)
	}

	// A load that has just started fills the disk faster than it does later.
	brief := record(time.Second, 200).add(rules.FilesystemSize, "device", "sdb", always(21e9)).
		add(rules.FilesystemAvailable, "device", "sdb", func(s float64) float64 { return 20e9 - 3e7*s })
	if h := find(t, headroom.Of(brief.Case, headroom.Options{}), "filesystem_space", "sdb"); h.Ends != nil {
		t.Errorf("three minutes of filling end in %+v", h.Ends)
	}

	saw := record(time.Minute, 1440).add(rules.FilesystemSize, "device", "sdb", always(1e12)).
		add(rules.FilesystemAvailable, "device", "sdb", func(s float64) float64 { return 4e11 - 1e10*math.Mod(s, 30000)/300 })
	if h := find(t, headroom.Of(saw.Case, headroom.Options{}), "filesystem_space", "sdb"); h.Ends != nil {
		t.Errorf("a sawtooth ends in %+v", h.Ends)
	}
}

// Utilisation grows over weeks, with a daily cycle.
func TestGrowthOverWeeks(t *testing.T) {
	r := record(10*time.Minute, 28*144).add(rules.DiskOps, "device", "data", func(s float64) float64 {
		return (1000 + 40*s/86400) * (1 + 0.3*math.Sin(2*math.Pi*s/86400))
	})
	h := find(t, headroom.Of(r.Case, known("data", catalog.Order{Type: "gp3", Size: 500 * units.GiB})), "volume_iops", "data")
	if h.Trend == nil || h.Ends == nil {
		t.Fatalf("%+v %+v", h.Trend, h.Ends)
	}

	near(t, "a day", h.Trend.PerS*86400, 52, 3)
	if days := h.Ends.InS / 86400; days < 4 || days > 8 {
		t.Errorf("ends in %v days", days)
	}

	short := record(time.Minute, 1440).add(rules.DiskOps, "device", "data", func(s float64) float64 { return 1000 + s/100 })
	if h := find(t, headroom.Of(short.Case, known("data", catalog.Order{Type: "gp3"})), "volume_iops", "data"); h.Trend != nil {
		t.Errorf("a day's shape is not a trend: %+v", h.Trend)
	}
}

// The instance's baseline and burst, for all volumes together.
func TestInstance(t *testing.T) {
	kind, err := catalog.Embedded().Instance("m6i.large")
	if err != nil || !kind.Bursts() {
		t.Fatal("the catalogue has no m6i.large that bursts")
	}
	base, most := float64(kind.Baseline.IOPS), float64(kind.Maximum.IOPS)
	each := (base + 1000) / 2
	r := record(time.Second, 600).add(rules.DiskOps, "device", "nvme1n1", always(each)).add(rules.DiskOps, "device", "nvme2n1", always(each)).
		add(rules.DiskOps, "device", "dm-0", always(2*each))
	got := headroom.Of(r.Case, headroom.Options{Known: offers.Known(nil, nil, nil, "m6i.large")})
	near(t, "most", find(t, got, "instance_iops", "").Most.Value, base+1000, 1)
	near(t, "ends in", find(t, got, "instance_iops_credits", "").Ends.InS, (most-base)*1800/1000-600, 1)
}

// An engine's own limits come from its folder.
func TestEnginesOwn(t *testing.T) {
	dirty, quota, size := testkit.Pack().Signal("plimsoll:wt_dirty:ratio"), testkit.Pack().Signal("plimsoll:etcd_quota:bytes"), testkit.Pack().Signal("plimsoll:etcd_database_size:bytes")
	var own = map[string]*rules.Signal{}
	for _, e := range testkit.Pack().Engines() {
		for _, b := range e.Bounds {
			own[b.Resource] = b.Used
		}
	}

	if own["cache_dirty"] == nil || own["cache_dirty"].Name != dirty.Name || own["backend_quota"].Name != size.Name {
		t.Fatalf("%v", own)
	}

	var limit *rules.Signal
	for _, e := range testkit.Pack().Engines() {
		for _, b := range e.Bounds {
			if b.Limit != nil && b.Limit.Name == quota.Name {
				limit = b.Limit
			}
		}
	}

	r := record(time.Second, 600).add(own["cache_dirty"], "", "", always(0.12)).
		add(own["backend_quota"], "instance", "m1", func(s float64) float64 { return 1e9 + 1e6*s }).add(limit, "instance", "m1", always(2e9))
	got := headroom.Of(r.Case, headroom.Options{})
	near(t, "dirty", *find(t, got, "cache_dirty", "MongoDB").Most.Ratio, 0.6, 1e-9)
	q := find(t, got, "backend_quota", "etcd m1")
	near(t, "quota ends in", q.Ends.InS, 401, 5)
	r.Facts["parameter.wiredTigerEngineRuntimeConfig"] = "eviction=(threads_max=8),eviction_dirty_trigger=15"
	near(t, "dirty with a setting", *find(t, headroom.Of(r.Case, headroom.Options{}), "cache_dirty", "MongoDB").Most.Ratio, 0.8, 1e-9)
}

// The kernel starts to throttle writers halfway between its two limits.
func TestPageCache(t *testing.T) {
	r := record(time.Second, 60).add(rules.MemoryDirty, "", "", always(1e9)).add(rules.MemoryWriteback, "", "", always(0.2e9)).
		add(rules.MemoryAvailable, "", "", always(10e9))
	r.Facts["vm.dirty_background_ratio"], r.Facts["vm.dirty_ratio"] = "10", "20"
	r.Facts["vm.dirty_background_bytes"], r.Facts["vm.dirty_bytes"] = "0", "0"
	got := headroom.Of(r.Case, headroom.Options{})
	near(t, "background", *find(t, got, "dirty_background", "").Most.Ratio, 1.2, 1e-9)
	near(t, "throttle", *find(t, got, "dirty_throttle", "").Most.Ratio, 0.8, 1e-9)
	delete(r.Facts, "vm.dirty_ratio")
	delete(r.Facts, "vm.dirty_bytes")
	for _, h := range headroom.Of(r.Case, headroom.Options{}).All {
		t.Errorf("without the setting: %+v", h)
	}
}

// The provider's own balance needs no assumption.
func TestReportedBalance(t *testing.T) {
	r := record(time.Second, 600).add(rules.DiskOps, "device", "nvme1n1", always(290)).
		add(rules.EBSBurstBalance, "volume_id", "vol-1", func(s float64) float64 { return 0.5 - 140*s/5.4e6 })
	got := headroom.Of(r.Case, known("nvme1n1", catalog.Order{Type: "gp2", Size: 50 * units.GiB}))
	h := find(t, got, "volume_credits", "nvme1n1")
	near(t, "ends in", h.Ends.InS, 2.7e6/140-600, 2)

	if h.Ends.Assumes != "" {
		t.Errorf("it assumes that %s", h.Ends.Assumes)
	}

	// The volume merges requests, so it uses fewer credits than the host counts.
	merged := record(time.Second, 600).add(rules.DiskOps, "device", "nvme1n1", always(690)).
		add(rules.EBSBurstBalance, "volume_id", "vol-1", func(s float64) float64 { return 0.5 - 140*s/5.4e6 })
	h = find(t, headroom.Of(merged.Case, known("nvme1n1", catalog.Order{Type: "gp2", Size: 50 * units.GiB})), "volume_credits", "nvme1n1")
	near(t, "ends in, of merged requests", h.Ends.InS, 2.7e6/140-600, 2)

	for _, h := range got.All {
		if h.Subject == "vol-1" {
			t.Errorf("the balance is listed twice: %+v", h)
		}
	}

	// If the volume's type is unknown, the slope of the balance predicts the end.
	h = find(t, headroom.Of(r.Case, headroom.Options{}), "volume_credits", "vol-1")
	near(t, "ends in, by its slope", h.Ends.InS, 2.7e6/140-600, 20)
}
