package vmstat

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const plain = `procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0 692580 355716 11757864    2   12   685   601  237  146  9  3 86  2  0
 0  5      0 692472 355720 11757840    0    8     0   196  679 2350  2  1 47 50  0
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 0  1      0 692472 355720 11757840    0    0     0   100  679 2350  2  1 97  0  0
`

const stamped = `--procs-- -----------------------memory---------------------- ---swap-- -----io---- -system-- ----------cpu---------- -----timestamp-----
   r    b         swpd         free         buff        cache   si   so    bi    bo   in   cs  us  sy  id  wa  st  gu                 UTC
  29    0            0      6356020       421656     16146380    0    0 10242  7023 2067 4671  73  14  11   2   0   0 2026-11-21 01:00:00
  26    2            0      6356020       421656     16146380    0    0    20   500 7134 16857  78  22   0   0   0   0 2026-11-21 01:00:10
`

const clocked = `--time-- procs -----------memory---------- ---swap-- -----io---- --system-- -----cpu-----
          r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
23:59:55  2  0    376 141000624 945216 8464640    0    0     2   806 31414 37894  2  1 97  0  0
00:00:00  5  0    376 140984384 945232 8465164    0    0     3   200 36567 40997  2  1 98  0  0
`

func fileOf(text string) source.File {
	return source.File{Path: "vmstat.txt", Modified: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

func read(t *testing.T, text string) ([]string, error) {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	if err := New(fileOf(text)).Read(t.Context(), m, source.Options{Location: time.UTC}); err != nil {
		return nil, err
	}
	series, err := m.Samples(t.Context(), recording.MustSelector(`{__name__=~"node_.*"}`), time.Unix(0, 0), time.Unix(1<<32, 0))
	if err != nil {
		t.Fatal(err)
	}

	var out []string
	for _, s := range series {
		for _, p := range s.Points {
			out = append(out, fmt.Sprintf("%s %s %g", strings.TrimSpace(s.Labels.Get("__name__")+" "+s.Labels.Get("mode")),
				time.UnixMilli(p.T).UTC().Format("02 15:04:05"), p.F))
		}
	}
	return out, nil
}

// The first line is the average since boot; times come from -t, a time of day or the file.
func TestForms(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain": {plain, []string{"node_procs_blocked 21 01:59:59 5", "node_vmstat_pgpgout 21 01:59:58 0",
			"node_vmstat_pgpgout 21 01:59:59 196", "node_vmstat_pgpgout 21 02:00:00 296", "node_vmstat_pswpout 21 01:59:59 2",
			"node_cpu_seconds_total iowait 21 01:59:59 0.5"}},
		"-t -w":         {stamped, []string{"node_vmstat_pgpgout 21 01:00:10 5000", "node_procs_running 21 01:00:10 26"}},
		"a time of day": {clocked, []string{"node_vmstat_pgpgout 21 00:00:00 1000", "node_vmstat_pgpgout 20 23:59:55 0"}},
		"a prefix": {"Nov 21 01:00:00 " + strings.ReplaceAll(strings.TrimSuffix(plain, "\n"), "\n", "\nNov 21 01:00:00 ") + "\nNov 21 01:00:05  3  1      0 692472 355720 11757840    0    0     0   100  679 2350  2  1 97  0  0\n",
			[]string{"node_procs_running 21 01:00:05 3"}},
	} {
		if !Sniff([]byte(c.text)) {
			t.Errorf("%s: not recognised", name)
		}
		got, err := read(t, c.text)
		for _, want := range c.want {
			if err != nil || !slices.Contains(got, want) {
				t.Errorf("%s: missing %q in\n%s\n%v", name, want, strings.Join(got, "\n"), err)
			}
		}
		if slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "node_procs_running 21 01:59:58") }) {
			t.Errorf("%s: the average since boot is a sample", name)
		}
	}
}

func TestTooShort(t *testing.T) {
	if _, err := read(t, strings.Join(strings.SplitAfter(plain, "\n")[:3], "")); err == nil || !strings.Contains(err.Error(), "vmstat.txt") {
		t.Errorf("error %v, want one with the file", err)
	}
}

func FuzzRows(f *testing.F) {
	for _, s := range []string{plain, stamped, clocked} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		Sniff([]byte(text))
		m := recording.NewMemory(recording.MemoryOptions{})
		_ = New(fileOf(text)).Read(t.Context(), m, source.Options{Location: time.UTC}) // any error but a panic
	})
}
