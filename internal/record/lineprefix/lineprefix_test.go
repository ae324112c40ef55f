package lineprefix

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Prefixes of real pipelines, with the lines and times after removal.
func TestCut(t *testing.T) {
	lines := []string{"Linux 6.1.0 (db)", "", "Device   r/s", "sda  1.00"}
	for name, c := range map[string]struct {
		prefix string
		want   Time
	}{
		"kubectl logs --timestamps": {"2026-01-05T10:00:00.123456789Z ", Time{2026, time.January, 5, 10, 0, 0, 123456789, 0, true}},
		"a zone":                    {"2026-01-05T10:00:00+02:00 ", Time{2026, time.January, 5, 10, 0, 0, 0, 7200, true}},
		"a script":                  {"2026-01-05 10:00:00.000001\t", Time{2026, time.January, 5, 10, 0, 0, 1000, 0, false}},
		"brackets":                  {"[2026-01-05 10:00:00] ", Time{2026, time.January, 5, 10, 0, 0, 0, 0, false}},
		"ts":                        {"Jan 15 10:00:00 ", Time{0, time.January, 15, 10, 0, 0, 0, 0, false}},
		"one figure":                {"Jan  5 10:00:00 ", Time{0, time.January, 5, 10, 0, 0, 0, 0, false}},
		"journald":                  {"Jan 15 10:00:00 db iostat[812]: ", Time{0, time.January, 15, 10, 0, 0, 0, 0, false}},
		"journald, ISO":             {"2026-01-15T10:00:00-0330 db iostat[812]: ", Time{2026, time.January, 15, 10, 0, 0, 0, -12600, true}},
		"epoch":                     {"1767607200.5 ", Time{2026, time.January, 5, 10, 0, 0, 500000000, 0, true}},
	} {
		text := c.prefix + strings.Join(lines, "\n"+c.prefix) + "\n"
		f := Detect([]byte(text))
		if f == nil {
			t.Errorf("%s: not recognised", name)
			continue
		}

		at, rest, ok := f.Cut([]byte(c.prefix + lines[3]))
		if !ok || string(rest) != lines[3] || at != c.want {
			t.Errorf("%s: %v, %q, %v; want %+v", name, at, rest, ok, c.want)
		}

		if got := string(Detect([]byte(text)).Strip([]byte(text))); got != strings.Join(lines, "\n")+"\n" {
			t.Errorf("%s: %q", name, got)
		}

		// An editor removed the trailing spaces.
		bare := strings.ReplaceAll(text, c.prefix+"\n", strings.TrimRight(c.prefix, " \t")+"\n")
		if got := string(Detect([]byte(bare)).Strip([]byte(bare))); got != strings.Join(lines, "\n")+"\n" {
			t.Errorf("%s, without blanks: %q", name, got)
		}
	}
}

// A log with its own times on separate lines has no prefix.
func TestNoPrefix(t *testing.T) {
	for _, text := range []string{
		"", "\n\n\n", "2026-01-05T10:00:00Z\n", "a\nb\nc\n",
		"2026-01-05T10:00:00+0000\navg-cpu:  %user\n    1.0\n\nDevice r/s\n",
		"Jan 15 10:00:00 a\nJan 15 10:00:00 b\n2026 c\n",
		"1767607200\n1767607201\n", "12345678901 a\n12345678902 b\n12345678903 c\n",
	} {
		if f := Detect([]byte(text)); f != nil {
			t.Errorf("%q: %+v", text, f)
		}
	}
}

func FuzzCut(f *testing.F) {
	for _, s := range []string{"2026-01-05T10:00:00.1Z x", "Jan 15 10:00:00 h p[1]: x", "[1767607200.5] x", "Feb", "2026-01-05T10:00:00+"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for clock := range epoch + 1 {
			for _, tagged := range []bool{false, true} {
				form := Form{clock: clock, tagged: tagged}
				at, rest, ok := form.Cut(line)
				if ok && !strings.HasSuffix(string(line), string(rest)) {
					t.Fatalf("%q is not the end of %q", rest, line)
				}
				if ok && (at.Month < 1 || at.Month > 12 || at.Hour > 23) {
					t.Fatal(fmt.Sprint(at))
				}
			}
		}
		Detect(line)
	})
}

// FuzzLearn: a learned prefix never fails on other lines, and its rest is a part of the line.
func FuzzLearn(f *testing.F) {
	for _, seed := range []string{"db1: Device x\ndb1: \ndb1: sda 1\n", "Thu Jan 15 10:00:00 PM UTC 2026 Device\n",
		"2026/01/15 10:00:00.5+01:00 | Device\n", "1768471200.1 [a] Device\n", "<14>1 15.1.26 h a 8 - - Device\n"} {
		f.Add([]byte(seed), []byte("db1: nvme0n1 2.0"))
	}
	f.Fuzz(func(t *testing.T, head, line []byte) {
		form := Learn(head, func(b []byte) bool { return bytes.HasPrefix(b, []byte("Device")) })
		if form == nil {
			return
		}
		if _, rest, ok := form.Cut(line); ok && !bytes.HasSuffix(line, rest) {
			t.Errorf("%q is not the end of %q", rest, line)
		}
	})
}
