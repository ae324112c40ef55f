package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"plimsoll/internal/record/recording"
)

// valuesIn returns the values of a query's JSON, by series and time.
func valuesIn(t *testing.T, args ...string) map[string]string {
	t.Helper()
	out, err := exec.Command("plimsoll", args...).Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}

	var m response
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}

	values := map[string]string{}
	for _, s := range m.Data.Result {
		for _, v := range s.Values {
			values[fmt.Sprint(s.Metric, v[0])] = fmt.Sprint(v[1])
		}
	}

	return values
}

// TestWindowChangesNoValue: a query over part of the time returns the same values there as a query
// over all of it, for a file, a capture and a recording of them.
func TestWindowChangesNoValue(t *testing.T) {
	const examples = "../../examples/"
	folder := filepath.Join(t.TempDir(), "incident")
	if code, text := finished(t, "record", examples+"postgres-checkpoint/node.prom.gz", "--out", folder); code != exitFine {
		t.Fatal(text)
	}

	if !recording.IsRecording(folder) {
		t.Fatal("no recording")
	}

	for _, c := range []struct{ source, expr, whole, part, to string }{
		{examples + "postgres-checkpoint/node.prom.gz", "rate(node_cpu_seconds_total[60s])", "2026-11-21T03:12:00Z", "2026-11-21T03:14:00Z", "2026-11-21T03:15:00Z"},
		{folder, "rate(node_cpu_seconds_total[60s])", "2026-11-21T03:12:00Z", "2026-11-21T03:14:00Z", "2026-11-21T03:15:00Z"},
		{examples + "postgres-checkpoint/iostat.log", "max_over_time(rate(node_disk_io_time_seconds_total[5s])[30s:5s]) + node_disk_written_bytes_total offset 20s", "2026-11-21T03:12:00Z", "2026-11-21T03:14:00Z", "2026-11-21T03:15:00Z"},
	} {
		whole := valuesIn(t, "query", c.source, c.expr, "--from", c.whole, "--to", c.to, "--step", "10s", "-o", "json", "--tz", "UTC")
		part := valuesIn(t, "query", c.source, c.expr, "--from", c.part, "--to", c.to, "--step", "10s", "-o", "json", "--tz", "UTC")
		if len(part) < 7 {
			t.Errorf("%s: %d values in a minute: this tests nothing", c.source, len(part))
		}
		for at, v := range part {
			if whole[at] != v {
				t.Errorf("%s at %s: %s, and %s in a query of the whole", c.source, at, v, whole[at])
			}
		}
	}
}

// TestWindowOfAFile: a diagnosis of part of the time covers the same intervals in a file as in a
// recording of it. The first begins with a sample before the window.
func TestWindowOfAFile(t *testing.T) {
	const log = "../../examples/postgres-checkpoint/iostat.log"
	folder := filepath.Join(t.TempDir(), "incident")
	if code, text := finished(t, "record", log, "--out", folder); code != exitFine {
		t.Fatal(text)
	}

	var watched [2]string
	for i, source := range []string{log, folder} {
		out, err := exec.Command("plimsoll", "diagnose", source, "--from", "2026-11-21T03:14:00Z", "--to", "2026-11-21T03:15:00Z", "-o", "json").Output()
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Stalls json.RawMessage `json:"stalls"`
		}
		if err := json.Unmarshal(out, &d); err != nil {
			t.Fatal(err)
		}
		watched[i] = string(d.Stalls)
	}

	if len(watched[0]) < 20 || watched[0] != watched[1] {
		t.Errorf("the file:\n%s\na recording of it:\n%s", watched[0], watched[1])
	}
}
