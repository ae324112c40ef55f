package exposition

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// Two servers with the same page are distinguished by their labels; a server that is not running yet
// does not end the reading.
func TestMembers(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("etcd_server_is_leader 1\n"))
	}))
	defer page.Close()
	opt := URLOptions{Getenv: func(string) string { return "" }}

	var members []source.Source
	for _, at := range []string{page.URL, page.URL, "http://127.0.0.1:1"} {
		m, err := OpenMember(at+"/metrics", Member{Instance: string(rune('a' + len(members))), AddFacts: func(d *recording.Source) { d.Kind = "etcd" }}, opt)
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, m)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := recording.NewMemory(recording.MemoryOptions{})

	if err := source.NewGroup(recording.Source{Kind: "etcd", Name: "etcd"}, members, nil).Read(ctx, m, source.Options{For: 30 * time.Millisecond, Period: 10 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}

	got, err := m.Samples(ctx, recording.MetricSelector(`etcd_server_is_leader`), time.UnixMilli(0), time.Now().Add(time.Hour))
	if err != nil || len(got) != 2 || got[0].Labels.Get("instance") == got[1].Labels.Get("instance") {
		t.Errorf("%v, %v", got, err)
	}

	if n := m.Notes(); len(n) == 0 || !strings.Contains(n[len(n)-1].Text, "no sample") {
		t.Errorf("%+v", n)
	}

	if _, err := OpenMember("ftp://x", Member{}, opt); err == nil {
		t.Error("ftp:// is taken")
	}
}
