package frame_test

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mattn/go-runewidth"
	"github.com/prometheus/prometheus/model/labels"
	"pgregory.net/rapid"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/frame"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

var noon = time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)

// busy is a moment with everything that can be shown.
func busy() *frame.Moment {
	nan := math.NaN()
	recent := make([]float64, 60)
	for i := range recent {
		recent[i] = 0.002 + 0.0001*float64(i%7)
		if i > 50 {
			recent[i] = 0.8
		}
	}

	recent[20] = nan
	return &frame.Moment{
		At: noon, From: noon.Add(-15 * time.Minute), To: noon,
		Now:  frame.Now{Level: frame.Critical, Text: "MongoDB writes: Checkpoints saturate the volume (wiredtiger)", Fix: "Write less at a checkpoint: --setParameter wiredTigerEngineRuntimeConfig=eviction_dirty_target=1"},
		Host: []frame.Figure{{Label: "CPUs", Text: "23 %"}, {Label: "page cache dirty", Text: "1.20 GB"}, {Label: "checkpoint", Text: "running"}},
		Clients: []frame.Client{
			{Name: "MongoDB writes", Rate: 200, Mean: 0.8, Worst: 1.02, Usual: 0.002, StalledS: 64, Stalled: true, Recent: recent, Threshold: 0.1},
			{Name: "MongoDB reads", Rate: 1234, Mean: 0.0003, Worst: 0.0004, Usual: 0.0003, Recent: recent[:30], Threshold: 0.1},
			{Name: "MongoDB commands", Rate: nan, Mean: nan, Worst: nan, Usual: nan},
		},
		Devices: []frame.Device{
			{Name: "nvme2n1", Busy: 0.12, IOPS: 310, LimitIOPS: nan, BytesS: 12e6, LimitBytesS: nan, Queue: 0.1, AwaitS: 0.0005, SharedIOPS: nan, SharedBytesS: nan},
			{Name: "nvme1n1", Busy: 1, IOPS: 2990, LimitIOPS: 3000, BytesS: 48e6, LimitBytesS: 125e6, Queue: 37.8, AwaitS: 0.0126, SharedIOPS: 0.9967, SharedBytesS: 0.384},
			{Name: "loop0", Idle: true},
		},
		Limits: []frame.Limit{{Subject: "nvme1n1", Title: "burst credits", Part: 0.88, EndsS: 5400}, {Subject: "/var/lib/mongodb", Title: "space", Part: 0.41, EndsS: nan}},
		Spent:  frame.Spent{Incident: 1, Rows: []frame.Share{{Name: "a device saturated", Part: 0.81, Overlaps: true}, {Name: "journal fdatasync", Part: 0.12}, {Name: "unexplained", Part: 0.07}}},
		Incidents: []frame.Incident{
			{ID: 1, From: noon.Add(-8 * time.Second), To: noon, Now: true, Who: "MongoDB writes", Why: "Checkpoints saturate the volume (wiredtiger)", StalledS: 64, WorstS: 1.02},
			{ID: 2, From: noon.Add(-9 * time.Minute), To: noon.Add(-8 * time.Minute), Who: "MongoDB reads", Why: "no cause found", StalledS: 12, WorstS: nan},
		},
		Marks: []diagnose.Marked{{At: noon.Add(-3 * time.Minute), Text: "dirty_target 1 %"}},
	}
}

var view = frame.View{Width: 80, Height: 24, Keys: true, Sources: "mongodb://db-1.example.net:27017, host", State: "live", Zone: time.UTC}

// fits fails unless the lines fit the view, without characters that a terminal acts on.
func fits(t interface {
	Helper()
	Errorf(format string, args ...any)
}, lines []frame.Line, v frame.View) {
	t.Helper()
	if v.Height > 0 && len(lines) > v.Height {
		t.Errorf("%d x %d: %d lines", v.Width, v.Height, len(lines))
	}

	width := &runewidth.Condition{StrictEmojiNeutral: true}
	for _, l := range lines {
		text := ""
		for _, p := range l {
			text += p.Text
		}
		if n := width.StringWidth(text); n > v.Width {
			t.Errorf("%d x %d: a line has %d columns: %q", v.Width, v.Height, n, text)
		}
		if strings.ContainsFunc(text, unicode.IsControl) || v.ASCII && strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
			t.Errorf("%d x %d: %q", v.Width, v.Height, text)
		}
	}
}

func TestFrames(t *testing.T) {
	for name, change := range map[string]func(v *frame.View) *frame.Moment{
		"80x24":  func(*frame.View) *frame.Moment { return busy() },
		"120x40": func(v *frame.View) *frame.Moment { v.Width, v.Height = 120, 40; return busy() },
		"40x8":   func(v *frame.View) *frame.Moment { v.Width, v.Height = 40, 8; return busy() },
		"small":  func(v *frame.View) *frame.Moment { v.Width, v.Height = 30, 5; return busy() },
		"ascii":  func(v *frame.View) *frame.Moment { v.ASCII, v.Height, v.Keys = true, 0, false; return busy() },
		"help":   func(v *frame.View) *frame.Moment { v.Help = true; return busy() },
		"sorted": func(v *frame.View) *frame.Moment {
			v.Sort, v.Skip, v.Message, v.State = frame.ByName, 1, "devices by name", "FROZEN"
			return busy()
		},
		"nothing": func(*frame.View) *frame.Moment { return frame.At(nil, nil, time.Time{}) },
	} {
		t.Run(name, func(t *testing.T) {
			v := view
			m := change(&v)
			lines := frame.Render(m, v)
			fits(t, lines, v)
			golden.Compare(t, name+".golden", frame.Text(lines, false))
			if colored := frame.Text(lines, true); name == "80x24" && !strings.Contains(colored, "\x1b[1;31m") {
				t.Errorf("no colours: %q", colored)
			}
		})
	}
}

// Whatever names sources use, and whatever the size of the terminal, a frame fits it.
func TestFramesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b[2J", "数据库写入数据库写入", "a\nb", "\u202e"}))
		m := busy()
		m.Now.Text, m.Now.Fix = text.Draw(t, "now"), text.Draw(t, "fix")
		m.Clients[0].Name, m.Devices[0].Name, m.Host[0].Label = text.Draw(t, "client"), text.Draw(t, "device"), text.Draw(t, "label")
		m.Spent.Rows[0].Name, m.Incidents[0].Why, m.Marks[0].Text = text.Draw(t, "share"), text.Draw(t, "why"), text.Draw(t, "mark")
		v := frame.View{Width: rapid.IntRange(0, 200).Draw(t, "width"), Height: rapid.IntRange(1, 60).Draw(t, "height"), ASCII: rapid.Bool().Draw(t, "ascii"),
			Keys: rapid.Bool().Draw(t, "keys"), Help: rapid.Bool().Draw(t, "help"), Skip: rapid.IntRange(0, 5).Draw(t, "skip"), Sources: text.Draw(t, "sources"), Message: text.Draw(t, "message")}
		fits(t, frame.Render(m, v), v)
	})
}

// stalling is a MongoDB on a volume that stays at 3,000 IOPS while writes take a second.
func stalling(t *testing.T, from, to, seconds int) recording.Reader {
	t.Helper()
	mem := recording.NewMemory(recording.MemoryOptions{})
	series := [][]string{
		{"mongodb_ss_opLatencies_latency", "op_type", "writes"}, {"mongodb_ss_opLatencies_ops", "op_type", "writes"},
		{"node_disk_io_time_seconds_total", "device", "nvme1n1"}, {"node_disk_writes_completed_total", "device", "nvme1n1"},
		{"node_disk_written_bytes_total", "device", "nvme1n1"}, {"node_disk_write_time_seconds_total", "device", "nvme1n1"}, {"node_disk_io_time_weighted_seconds_total", "device", "nvme1n1"},
	}

	b := recording.Batch{}
	for _, s := range series {
		b.Columns = append(b.Columns, recording.Column{Labels: labels.FromStrings(append([]string{"__name__"}, s...)...)})
	}

	took, ops, active, writes := 0.0, 0.0, 0.0, 0.0
	for s := range seconds {
		n, latency, share, w := 500.0, 0.002, 0.3, 800.0
		if s > from && s <= to {
			n, latency, share, w = 200, 1, 1, 3000
		}
		took, ops, active, writes = took+n*latency*1e6, ops+n, active+share, writes+w
		b.TimesMs = append(b.TimesMs, noon.Add(time.Duration(s)*time.Second).UnixMilli())
		for i, v := range []float64{took, ops, active, writes, writes * 16384, writes * 0.005, writes * 0.005} {
			b.Columns[i].Values = append(b.Columns[i].Values, v)
		}
	}

	if err := mem.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}

	return mem
}

// During a stall the cause is named; before and after it there is none.
func TestAt(t *testing.T) {
	in := []recording.Reader{stalling(t, 200, 230, 400)}
	c, err := diagnose.Lay(t.Context(), in, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	r, err := diagnose.Run(t.Context(), in, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	for _, of := range []struct {
		second    int
		level     frame.Level
		text      string
		rate      float64
		incidents int
	}{
		{100, frame.Good, "no stall", 500, 0},
		{220, frame.Critical, "MongoDB writes: ", 200, 1},
		{390, frame.Good, "no stall since 2m", 500, 1},
	} {
		m := frame.At(c, r, noon.Add(time.Duration(of.second)*time.Second))
		if m.Now.Level != of.level || !strings.HasPrefix(m.Now.Text, of.text) || len(m.Clients) == 0 || m.Clients[0].Rate != of.rate || len(m.Incidents) != of.incidents || len(m.Begins) != 1 {
			t.Errorf("second %d: %+v, %+v, %d incidents", of.second, m.Now, m.Clients, len(m.Incidents))
		}
		if len(m.Devices) != 1 || m.Devices[0].LimitIOPS < 2900 || m.Devices[0].LimitIOPS > 3100 {
			t.Errorf("second %d: devices %+v", of.second, m.Devices)
		}
	}

	// Without a diagnosis, the stall itself is still reported.
	if m := frame.At(c, nil, noon.Add(220*time.Second)); m.Now.Level != frame.Critical || !strings.Contains(m.Now.Text, "looking for the cause") {
		t.Errorf("%+v", m.Now)
	}
}
