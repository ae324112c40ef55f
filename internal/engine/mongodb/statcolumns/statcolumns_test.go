package statcolumns

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"fmt"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const old = `insert query update delete getmore command % dirty % used flushes vsize   res qr|qw ar|aw netIn netOut conn set repl           time
   891   936    235     14     388  2620|5     4.6   80.0       0 33.8G 26.7G   0|0   1|0 2.02m  2.38m  208 rs0  PRI 23:59:59+00:00
    *1    *0     *0     *0     107   452|0     4.7   80.0       0 33.8G 26.7G   0|7   1|1 1.07m  5.39m  208 rs0  PRI 00:00:01+00:00
`

const current = `insert query update delete getmore command dirty  used flushes vsize   res qrw arw net_in net_out conn                time
    10    20     30     40       0     2|0  0.1% 80.0%       0 1.5G  100M 0|3 1|2   500b   60.0k    5 Nov 21 02:00:00.123
    10    20     30     40       0     2|0  0.1% 80.0%       0 1.5G  100M 0|3 1|2   500b   60.0k    5 Nov 21 02:00:01.123
`

const asJSON = `{"localhost:27017":{"arw":"1|2","command":"2|0","conn":"5","delete":"*0","dirty":"0.1%","getmore":"0","insert":"10","qrw":"0|3","query":"*0","time":"02:00:00","update":"*0","used":"80.0%"}}
{"localhost:27017":{"arw":"1|2","command":"2|0","conn":"5","delete":"*0","dirty":"0.1%","getmore":"0","insert":"10","qrw":"0|3","query":"*0","time":"02:00:01","update":"*0","used":"80.0%"}}
`

func fileOf(text string) source.File {
	return source.File{Path: "mongostat.txt", Modified: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

func read(t *testing.T, text string) ([]string, error) {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	if err := New(fileOf(text)).Read(t.Context(), m, source.Options{Location: time.UTC}); err != nil {
		return nil, err
	}
	series, err := m.Samples(t.Context(), recording.MustSelector(`{__name__=~"mongo.*"}`), time.Unix(0, 0), time.Unix(1<<32, 0))
	if err != nil {
		t.Fatal(err)
	}

	var out []string
	for _, s := range series {
		l := s.Labels
		for _, p := range s.Points {
			out = append(out, fmt.Sprintf("%s %s%s %s %.4g", strings.TrimPrefix(l.Get("__name__"), "mongodb_ss_"),
				l.Get("legacy_op_type"), l.Get("count_type"), time.UnixMilli(p.T).UTC().Format("02 15:04:05.000"), p.F))
		}
	}
	return out, nil
}

// Each version's columns give counters and queues. A time of day belongs to the last day before the
// file was written.
func TestForms(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"old": {old, []string{
			"opcounters insert 20 23:59:58.000 0", "opcounters insert 20 23:59:59.000 891", "opcounters insert 21 00:00:01.000 893",
			"opcounters command 20 23:59:59.000 2625", "globalLock_currentQueue writers 21 00:00:01.000 7",
			"mongostat_dirty_ratio  21 00:00:01.000 0.047"}},
		"current": {current, []string{
			"opcounters update 21 02:00:01.123 60", "globalLock_activeClients_writers  21 02:00:00.123 2",
			"mongostat_used_ratio  21 02:00:00.123 0.8"}},
		"JSON": {asJSON, []string{"opcounters insert 21 02:00:01.000 20", "globalLock_currentQueue writers 21 02:00:00.000 3"}},
		"a prefix": {"2026-11-21T02:00:00Z " + strings.ReplaceAll(strings.TrimSpace(asJSON), "\n", "\n2026-11-21T02:00:01Z ") + "\n2026-11-21T02:00:02Z \n",
			[]string{"opcounters insert 21 02:00:01.000 20"}},
	} {
		if name != "a prefix" && !Sniff([]byte(c.text)) {
			t.Errorf("%s: not recognised", name)
		}
		got, err := read(t, c.text)
		for _, want := range c.want {
			if err != nil || !slices.Contains(got, want) {
				t.Errorf("%s: missing %q in\n%s\n%v", name, want, strings.Join(got, "\n"), err)
			}
		}
	}
}

func TestTooShort(t *testing.T) {
	if _, err := read(t, old[:strings.Index(old, "\n")+1]); err == nil || !strings.Contains(err.Error(), "mongostat.txt") {
		t.Errorf("error %v, want one with the file", err)
	}
}

func FuzzRows(f *testing.F) {
	for _, s := range []string{old, current, asJSON} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		Sniff([]byte(text))
		m := recording.NewMemory(recording.MemoryOptions{})
		_ = New(fileOf(text)).Read(t.Context(), m, source.Options{Location: time.UTC}) // any error but a panic
	})
}
