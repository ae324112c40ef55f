package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/engine/etcd/etcdtest"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A page is a writer that counts samples by instance.
type page struct {
	mu      sync.Mutex
	samples map[string]int
	leaders map[string]float64
	notes   []string
	sources map[string]recording.Source
	each    func(p *page)
}

func (p *page) Append(_ context.Context, b *recording.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()

	for _, c := range b.Columns {
		switch c.Labels.Get("__name__") {
		case "etcd_server_is_leader":
			p.leaders[c.Labels.Get("instance")] = c.Values[0]
			p.samples[c.Labels.Get("instance")]++
		case "etcd_disk_wal_fsync_duration_seconds_count":
			if c.Labels.Get("instance") == "" {
				return errors.New("a series without a member")
			}
		}
	}

	if p.each != nil {
		p.each(p)
	}

	return nil
}

func (p *page) Note(n recording.Note) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes = append(p.notes, n.Text)
}

func (p *page) Source(s recording.Source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sources[s.Name] = s
}

// seen reports whether the given number of members have the given number of samples each.
func (p *page) seen(members, samples int) bool {
	n := 0
	for _, k := range p.samples {
		if k >= samples {
			n++
		}
	}
	return n >= members
}

func read(t *testing.T, address string, env map[string]string, enough func(p *page) bool) (*page, error) {
	t.Helper()
	src, err := Open(t.Context(), address, recognise.LiveOptions{Getenv: func(k string) string { return env[k] }})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := &page{samples: map[string]int{}, leaders: map[string]float64{}, sources: map[string]recording.Source{}}
	p.each = func(p *page) {
		if enough(p) {
			cancel()
		}
	}
	return p, src.Read(ctx, p, source.Options{Period: 20 * time.Millisecond})
}

// One address is enough: the others are found, each has its label, and one of them is the leader. If a
// member dies, a note says so, and reading the others continues.
func TestTheQuorum(t *testing.T) {
	c := etcdtest.Run(t, 3, false)
	killed := false
	p, err := read(t, "etcd://"+c.Endpoints[1], nil, func(p *page) bool {
		if !killed && p.seen(3, 2) {
			killed = true
			if err := c.Kill(2); err != nil {
				t.Error(err)
			}
			clear(p.samples)
		}
		return killed && p.seen(2, 20)
	})
	if err != nil {
		t.Fatal(err)
	}

	want := slices.Sorted(slices.Values(c.Endpoints))
	if got := slices.Sorted(maps.Keys(p.leaders)); !slices.Equal(got, want) {
		t.Errorf("samples of %v, not %v", got, want)
	}

	if text := strings.Join(p.notes, "\n"); !strings.Contains(text, "samples in a row failed") || !strings.Contains(text, c.Endpoints[2]) {
		t.Errorf("no note about the member that died: %s", text)
	}

	roles := map[string]int{}
	for _, s := range p.sources {
		roles[s.Facts["etcd.role"]]++
		if s.Engine != "etcd" || s.Version == "" || s.Facts["etcd.member"] == "" {
			t.Errorf("%+v", s)
		}
	}

	if roles["leader"] != 1 || roles["follower"] != 2 {
		t.Errorf("roles: %v", roles)
	}
}

// A member that is down from the beginning is noted.
func TestOneMemberIsDown(t *testing.T) {
	c := etcdtest.Run(t, 3, false)
	if err := c.Kill(0); err != nil {
		t.Fatal(err)
	}
	p, err := read(t, "etcd://"+strings.Join(c.Endpoints, ","), nil, func(p *page) bool { return p.seen(2, 3) })
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(p.notes, "\n"); !strings.Contains(text, c.Endpoints[0]) {
		t.Errorf("no note about it: %s", text)
	}
}

func TestTLS(t *testing.T) {
	c := etcdtest.Run(t, 1, true)
	at := c.Endpoints[0]
	full := map[string]string{"ETCDCTL_CACERT": c.Files.CA, "ETCDCTL_CERT": c.Files.ClientCert, "ETCDCTL_KEY": c.Files.ClientKey}

	_, port, _ := strings.Cut(c.Metrics[0], ":")
	for _, x := range []struct {
		name, address string
		env           map[string]string
	}{
		{"etcdctl's environment", "etcds://" + at, full},
		{"files make it TLS", "etcd://" + at, full},
		{"parameters", fmt.Sprintf("etcds://%s?cacert=%s&cert=%s&key=%s", at, c.Files.CA, c.Files.ClientCert, c.Files.ClientKey), nil},
		{"metrics at an address of their own, without certificates", "etcd://" + at + "?metrics=http://:" + port, nil},
	} {
		p, err := read(t, x.address, x.env, func(p *page) bool { return p.seen(1, 2) })
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
		} else if !p.seen(1, 2) {
			t.Errorf("%s: no samples", x.name)
		}
	}

	for _, x := range []struct {
		name, address, want string
		env                 map[string]string
	}{
		{"unknown authority", "etcds://" + at, "ETCDCTL_CACERT", nil},
		{"no certificate of ours", "etcds://" + at, "ETCDCTL_CERT and ETCDCTL_KEY", map[string]string{"ETCDCTL_CACERT": c.Files.CA}},
		{"no TLS at all", "etcd://" + at, "etcds://", nil},
		{"TLS where there is none", "etcds://" + c.Metrics[0], "the server does not use TLS", nil},
		{"a key without a certificate", "etcds://" + at, "give both", map[string]string{"ETCDCTL_KEY": c.Files.ClientKey}},
		{"no such file", "etcds://" + at, "ETCDCTL_CACERT", map[string]string{"ETCDCTL_CACERT": "/no/such/file"}},
		{"no certificate in it", "etcds://" + at, "has no certificate", map[string]string{"ETCDCTL_CACERT": c.Files.ClientKey}},
		{"nobody there", "etcd://127.0.0.1:1", "127.0.0.1:1", nil},
	} {
		_, err := read(t, x.address, x.env, func(*page) bool { return true })
		if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", x.name, err, x.want)
		}
	}
}

// With authentication, members can still be read without a user; only the other members remain
// unknown.
func TestUsers(t *testing.T) {
	ctl, err := exec.LookPath("etcdctl")
	if err != nil {
		t.Skip("etcdctl is not installed: apt-get install etcd-client")
	}

	c := etcdtest.Run(t, 1, false)
	for _, args := range []string{"user add root:r00t-s3cret", "auth enable"} {
		cmd := exec.CommandContext(t.Context(), ctl, append([]string{"--endpoints=" + c.Endpoints[0]}, strings.Fields(args)...)...)
		cmd.Env = []string{"ETCDCTL_API=3"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", args, err, out)
		}
	}

	for _, x := range []struct {
		address string
		env     map[string]string
		note    string
	}{
		{"etcd://root:r00t-s3cret@" + c.Endpoints[0], nil, ""},
		{"etcd://" + c.Endpoints[0], map[string]string{"ETCDCTL_USER": "root:r00t-s3cret"}, ""},
		{"etcd://" + c.Endpoints[0], map[string]string{"ETCDCTL_USER": "root", "ETCDCTL_PASSWORD": "r00t-s3cret"}, ""},
		{"etcd://root:wr0ng-s3cret@" + c.Endpoints[0], nil, "denies access to user root"},
	} {
		p, err := read(t, x.address, x.env, func(p *page) bool { return p.seen(1, 2) })
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(p.notes, "\n")
		if x.note == "" && text != "" || !strings.Contains(text, x.note) {
			t.Errorf("notes are %q, want %q", text, x.note)
		}
		if all := fmt.Sprintf("%v %+v", text, p.sources); strings.Contains(all, "s3cret") {
			t.Errorf("a password is shown: %s", all)
		}
	}
}

// A member that is added during the reading is read as well; a removed one is no longer read.
func TestMembersComeAndGo(t *testing.T) {
	c := etcdtest.Run(t, 3, false)
	src, err := Open(t.Context(), "etcd://"+c.Endpoints[0], recognise.LiveOptions{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}

	src.(*cluster).every = 50 * time.Millisecond //nolint:forcetypeassert // it is one
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := &page{samples: map[string]int{}, leaders: map[string]float64{}, sources: map[string]recording.Source{}}
	gone, added := c.Endpoints[2], ""
	changed := make(chan error, 1)
	begun := false
	p.each = func(p *page) {
		switch {
		case !begun && p.seen(3, 2):
			begun = true
			go func() {
				at, err := c.Replace(t.TempDir(), 2)
				p.mu.Lock()
				added = at
				p.mu.Unlock()
				changed <- err
			}()
		case added != "" && p.samples[added] >= 3:
			cancel()
		}
	}

	if err := src.Read(ctx, p, source.Options{Period: 20 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}

	if err := <-changed; err != nil {
		t.Fatal(err)
	}

	notes := strings.Join(p.notes, "\n")
	if p.samples[added] == 0 || !strings.Contains(notes, "("+added+") has joined") || !strings.Contains(notes, "("+gone+") has left") {
		t.Errorf("of the member %s there are %d samples; notes:\n%s", added, p.samples[added], notes)
	}
}
