package diagnose_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// rates are a device's requests per second and the seconds that each takes. Requests have 4 KiB unless
// the bytes are given.
type rates struct{ writes, writeS, reads, readS, written, read float64 }

func (r rates) values() map[string]float64 {
	if r.written == 0 {
		r.written = r.writes * 4096
	}

	if r.read == 0 {
		r.read = r.reads * 4096
	}

	waited := r.writes*r.writeS + r.reads*r.readS
	return map[string]float64{
		"node_disk_io_time_seconds_total":          min(waited, 1),
		"node_disk_io_time_weighted_seconds_total": waited,
		"node_disk_writes_completed_total":         r.writes,
		"node_disk_reads_completed_total":          r.reads,
		"node_disk_written_bytes_total":            r.written,
		"node_disk_read_bytes_total":               r.read,
		"node_disk_write_time_seconds_total":       r.writes * r.writeS,
		"node_disk_read_time_seconds_total":        r.reads * r.readS,
	}
}

// If the host shows what is below a device, the rule distinguishes encryption, a RAID's parity, its
// resync and a slow leg. Each case is calm for 50 seconds of every 60 and stalls for ten.
func TestLayerSlow(t *testing.T) {
	type device struct{ calm, stalled rates }
	quick := device{rates{writes: 400, writeS: 0.001}, rates{writes: 400, writeS: 0.001}}
	slow := device{rates{writes: 400, writeS: 0.0012}, rates{writes: 400, writeS: 0.15}}
	raid5 := map[string]string{"below.md0": "sda sdb sdc", "layer.md0": "raid5", "sync.md0": "idle"}
	parity := device{rates{writes: 40, writeS: 0.005, reads: 40, readS: 0.005}, rates{writes: 400, writeS: 0.02, reads: 400, readS: 0.02}}
	mirror := map[string]string{"below.md0": "sda sdb", "layer.md0": "raid1", "sync.md0": "resync"}

	behind := device{rates{writes: 100, writeS: 0.002}, rates{writes: 100, writeS: 0.2, reads: 300, readS: 0.05, read: 150e6}}
	for _, x := range []struct {
		name    string
		facts   map[string]string
		devices map[string]device
		want    string // in the finding; "" if there is none
		remedy  string
	}{
		{"encryption, beside a disk that does the same", map[string]string{"below.dm-0": "sda", "layer.dm-0": "crypt", "called.dm-0": "data"},
			map[string]device{"dm-0": slow, "sda": quick, "sdb": quick}, "the time is lost in dm-crypt's encryption", "crypt-queues"},
		{"a volume on an encrypted disk: the encryption is named", map[string]string{"below.dm-0": "sda", "layer.dm-0": "crypt", "below.dm-1": "dm-0", "layer.dm-1": "lvm"},
			map[string]device{"dm-1": slow, "dm-0": slow, "sda": quick}, "Writes on dm-0 took 150 ms", "crypt-queues"},
		{"below it lies what was not recorded", map[string]string{"below.dm-0": "sdx", "layer.dm-0": "crypt"},
			map[string]device{"dm-0": slow, "sda": quick}, "", ""},
		{"another layer on the disk does most of what it does", map[string]string{"below.dm-0": "sda"},
			map[string]device{"dm-0": slow, "sda": {rates{writes: 2000, writeS: 0.0001}, rates{writes: 2000, writeS: 0.0001}}}, "", ""},
		{"parity", raid5, map[string]device{"md0": {rates{writes: 60, writeS: 0.012}, rates{writes: 600, writeS: 0.15}}, "sda": parity, "sdb": parity, "sdc": parity},
			"4.00 times as much: they read an extra 4.92 MB/s", ""},
		{"whole stripes: no reads", raid5, map[string]device{"md0": {rates{writes: 60, writeS: 0.002}, rates{writes: 800, writeS: 0.15}},
			"sda": {rates{writes: 30, writeS: 0.002}, rates{writes: 400, writeS: 0.15}}, "sdb": {rates{writes: 30, writeS: 0.002}, rates{writes: 400, writeS: 0.15}},
			"sdc": {rates{writes: 30, writeS: 0.002}, rates{writes: 400, writeS: 0.15}}}, "", ""},
		{"a resync", mirror, map[string]device{"md0": {rates{writes: 100, writeS: 0.002}, rates{writes: 100, writeS: 0.2}}, "sda": behind, "sdb": behind},
			"Its sync_action was resync when the recording began", "sync-speed"},
		{"reads of another volume on the same disks", map[string]string{"below.md0": "sda sdb", "layer.md0": "raid1", "sync.md0": "idle", "below.md1": "sda sdb", "layer.md1": "raid1"},
			map[string]device{"md0": {rates{writes: 100, writeS: 0.002}, rates{writes: 100, writeS: 0.2}}, "md1": {rates{}, rates{reads: 600, readS: 0.05, read: 300e6}}, "sda": behind, "sdb": behind}, "", ""},
		{"a leg that is slow from the first sample on", map[string]string{"below.md0": "sda sdb", "layer.md0": "raid1", "sync.md0": "idle"},
			map[string]device{"md0": {rates{writes: 40, writeS: 0.05}, rates{writes: 400, writeS: 0.2}}, "sda": {rates{writes: 40, writeS: 0.001}, rates{writes: 400, writeS: 0.001}},
				"sdb": {rates{writes: 40, writeS: 0.05}, rates{writes: 400, writeS: 0.2}}}, "its leg sdb took", ""},
		{"a leg that is asked for more", map[string]string{"below.md0": "sda sdb", "layer.md0": "raid0"},
			map[string]device{"md0": {rates{writes: 80, writeS: 0.002}, rates{writes: 600, writeS: 0.15}}, "sda": {rates{writes: 40, writeS: 0.001}, rates{writes: 100, writeS: 0.001}},
				"sdb": {rates{writes: 40, writeS: 0.003}, rates{writes: 500, writeS: 0.18}}}, "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			mem := recording.NewMemory(recording.MemoryOptions{})
			b := &recording.Batch{}
			for s := range 240 {
				b.TimesMs = append(b.TimesMs, int64(1_700_000_000_000+1000*s))
			}

			for dev, d := range x.devices {
				calm, stalled := d.calm.values(), d.stalled.values()
				for name := range calm {
					k := recording.Column{Labels: labels.FromStrings("__name__", name, "device", dev)}
					sum := 0.0
					for s := range b.TimesMs {
						sum += either(s%60 >= 50, stalled[name], calm[name])
						k.Values = append(k.Values, sum)
					}
					b.Columns = append(b.Columns, k)
				}
			}

			if err := mem.Append(context.Background(), b); err != nil {
				t.Fatal(err)
			}

			mem.Source(recording.Source{Kind: "host", Name: "x", Facts: x.facts, From: time.UnixMilli(b.TimesMs[0]), To: time.UnixMilli(b.TimesMs[len(b.TimesMs)-1])})
			r, err := diagnose.Run(context.Background(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
			if err != nil {
				t.Fatal(err)
			}

			var said []string
			for _, f := range r.Findings {
				if f.Rule == "disk/layer-slow" {
					said = append(said, f.Summary)
				}
			}

			if len(said) > 1 || x.want == "" && len(said) > 0 || !strings.Contains(strings.Join(said, ""), x.want) {
				t.Errorf("it says %q, want %q; %s", said, x.want, r.Verdict)
			}

			if x.remedy != "" && !slices.ContainsFunc(r.Actions, func(a act.Action) bool { return a.Remedy == x.remedy }) {
				t.Errorf("%s is not proposed", x.remedy)
			}
		})
	}
}
