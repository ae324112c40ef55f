package headroom

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Future times are given in days from two days on, with no more precision than is justified.
func TestAhead(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0 s", 59.6: "60.0 s", 3599: "59m59s", 3600: "1h00m", 5400: "1h30m", 48*3600 - 1: "47h59m", 48 * 3600: "2.00 days", 86400 * 12.34: "12.3 days", math.Inf(1): "?", math.NaN(): "?",
	} {
		if got := Ahead(s); got != want {
			t.Errorf("%v s: %q, want %q", s, got, want)
		}
	}
}

// An exact end is one time, another has its interval. What is assumed and what happens then is said.
func TestSentence(t *testing.T) {
	h := &Headroom{Subject: "nvme1n1", Title: "burst credits"}
	for _, c := range []struct {
		ends Ends
		at   string
		want string
	}{
		{Ends{InS: 5400, LowS: 5400, HighS: 5400, Exact: true}, "", "Headroom of nvme1n1: burst credits used up in 1h30m at the present rate."},
		{Ends{InS: 5400, LowS: 3600, HighS: 86400 * 3}, "", "Headroom of nvme1n1: burst credits used up in 1h30m (1h00m to 3.00 days) at the present rate."},
		{Ends{InS: 5400, Exact: true, Assumes: "the bucket was full", Then: "the limit falls to 300 IOPS"}, "about 16:30", "Headroom of nvme1n1: burst credits used up in 1h30m at the present rate, about 16:30, if the bucket was full. Then the limit falls to 300 IOPS."},
		{Ends{Then: "writes fail"}, "now", "Headroom of nvme1n1: burst credits used up. Then writes fail."},
	} {
		h.Ends = &c.ends
		if got := h.Sentence(c.at); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// disked is a recording of a minute with some devices.
func disked(facts map[string]string, devices ...string) *rules.Case {
	from := time.Unix(1_700_000_000, 0)
	grid := timeline.NewGrid(from, from.Add(59*time.Second), time.Second)
	c := rules.NewCase(nil, grid, func(s *rules.Signal) []timeline.Track {
		if s != rules.DiskOps {
			return nil
		}
		var out []timeline.Track
		for i, d := range devices {
			values := make([]float64, grid.N)
			for k := range values {
				values[k] = float64(10 * (i + 1))
			}
			out = append(out, timeline.Track{Labels: labels.FromStrings("device", d), Values: values})
		}
		return out
	})
	c.Facts = facts
	return c
}

// A volume's device is the one that was named, has its name, holds the files, or is the busiest, in this
// order.
func TestDevicesOf(t *testing.T) {
	one := map[string]Offer{"data": nil}
	mounts := map[string]string{
		"dbpath":               "/var/lib/mongo/db",
		"mount./":              "ext4 rw /dev/sda",
		"mount./var/lib/mongo": "xfs rw /dev/mapper/vg-db",
	}
	for _, c := range []struct {
		name    string
		c       *rules.Case
		known   Known
		of      string
		want    string
		guessed string
	}{
		{"named", disked(nil, "sda", "sdb"), Known{Volumes: one, Devices: map[string]string{"data": "sda"}}, "data", "[sda]", ""},
		{"its own name", disked(nil, "sda", "sdb"), Known{Volumes: map[string]Offer{"sda": nil}}, "/dev/sda", "[sda]", ""},
		{"of each member", disked(nil, "m1/data", "m2/data", "m1/wal"), Known{Volumes: one}, "data", "[m1/data m2/data]", ""},
		{"holds the files", disked(mounts, "sda", "vg-db", "sdc"), Known{Volumes: one}, "data", "[vg-db]", "the database's files are on it"},
		{"holds the files, but is not recorded", disked(mounts, "sda", "sdc"), Known{Volumes: one}, "data", "[sdc]", "it is the busiest device"},
		{"the busiest", disked(nil, "sda", "sdb", "sdc"), Known{Volumes: one}, "data", "[sdc]", "it is the busiest device"},
		{"one of two unknown ones", disked(nil, "sda", "sdb"), Known{Volumes: map[string]Offer{"data": nil, "wal": nil}}, "data", "[]", ""},
	} {
		if got, guess := devicesOf(c.c, c.known, c.of); fmt.Sprint(got) != c.want || guess != c.guessed {
			t.Errorf("%s: %v (%q), want %s (%q)", c.name, got, guess, c.want, c.guessed)
		}
	}
}

// The longest mount that contains a path wins, by whole names of folders.
func TestMounted(t *testing.T) {
	c := disked(
		map[string]string{
			"mount./":        "ext4 rw /dev/sda",
			"mount./var":     "xfs rw /dev/sdb",
			"mount./var/lib": "xfs rw /dev/sdc",
			"mount./proc":    "proc",
			"other":          "xfs rw /dev/sdd",
		},
		"sda",
		"sdb",
		"sdc",
		"sdd",
	)
	for path, want := range map[string]string{"/var/lib/pg": "sdc", "/var/library": "sdb", "/var/lib": "sdc", "/home": "sda", "/proc/1": "sda", "": ""} {
		if got := mounted(c, path); got != want {
			t.Errorf("%s is on %q, want %q", path, got, want)
		}
	}
}

// A provider's description counts unless the user said otherwise; one that cannot be read is reported.
func TestDescribed(t *testing.T) {
	offer := func(iops float64) Offer {
		return func(size int64) (Volume, error) {
			return Volume{
				Text:      fmt.Sprintf("%v IOPS of %d", iops, size),
				Sustained: rules.Rate{IOPS: iops},
				Burst:     rules.Rate{IOPS: iops},
			}, nil
		}
	}
	known := Known{Volumes: map[string]Offer{"sda": offer(100)}, Described: func(text string) (Offer, error) {
		if text == "gp3,500GiB" {
			return offer(3000), nil
		}
		return nil, errors.New("unknown type")
	}}
	c := disked(
		map[string]string{
			"volume.sda":    "gp3,500GiB",
			"volume_id.sdb": "vol-1",
			"volume.vol-1":  "gp3,500GiB",
			"volume.sdc":    "floppy",
			"parts.sdb":     "4",
			"size.sdb":      "4000",
		},
		"sda",
		"sdb",
		"sdc",
		"sdd",
	)

	all, lost := orders(c, known)
	if a, b := all["sda"], all["sdb"]; len(all) != 2 || a.Sustained.IOPS != 100 || a.from != Given ||
		b.Sustained.IOPS != 3000 ||
		b.from != Measured ||
		b.parts != 4 ||
		b.Text != "3000 IOPS of 1000" {
		t.Errorf("%+v", all)
	}
	if fmt.Sprint(lost) != "[{sdc its provider describes it as floppy: unknown type}]" {
		t.Errorf("lost: %v", lost)
	}
	// A stripe provides the sum of its parts.
	if got := Provisioned(c, known)["sdb"]; got.IOPS != 12_000 || !got.Even {
		t.Errorf("%+v", got)
	}
}

// The machine is the user's, or the recording's type in the catalogue, or what its provider reported.
func TestMachineOf(t *testing.T) {
	in := map[string]rules.Machine{
		"m6i.large": {Name: "m6i.large", Baseline: rules.Rate{IOPS: 3600}, Maximum: rules.Rate{IOPS: 40_000}},
	}
	of := func(user string) Known {
		return Known{Machine: func(kind string) (rules.Machine, bool) {
			if kind == "" {
				kind = user
			}
			m, ok := in[kind]
			return m, ok
		}}
	}
	reported := map[string]string{
		rules.FactMachine:     "x9.new",
		"instance.iops":       "1000",
		"instance.burst_iops": "2000",
		"instance.throughput": "1e6",
	}
	for _, c := range []struct {
		name  string
		facts map[string]string
		known Known
		want  string
		iops  float64
	}{
		{"nothing", nil, Known{}, "", 0}, {"the user's", map[string]string{rules.FactMachine: "x9.new"}, of("m6i.large"), "m6i.large", 3600}, {"the recording's", map[string]string{rules.FactMachine: "m6i.large"}, of(""), "m6i.large", 3600},
		{"reported", reported, of(""), "x9.new", 1000}, {"unknown", map[string]string{rules.FactMachine: "x9.new"}, of(""), "", 0}, {"no machine", nil, of(""), "", 0},
	} {
		got := MachineOf(disked(c.facts), c.known)
		if (got != nil) != (c.want != "") ||
			got != nil && (got.Name != c.want || got.Baseline.IOPS != c.iops) {
			t.Errorf("%s: %+v, want %s", c.name, got, c.want)
		}
	}
}
