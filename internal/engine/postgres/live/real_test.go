package live_test

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/engine/postgres/judge"
	"plimsoll/internal/engine/postgres/live"
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// dumped is the size of the table that each dump reads. It is more than the pipe and the socket between
// the server and pg_dump hold, so that the session waits until the dump's output is read.
const dumped = "SELECT id, repeat(md5(id::text), 30) AS filler FROM generate_series(1, 20000) AS id"

// Several concurrent pg_dump processes next to fast commits are not a stall, although their sessions
// are active for as long as the dump takes and wait for their client. Nor are they clients that do not
// read: no commit waits for them.
func TestRealDumpIsNoStall(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some twenty seconds")
	}

	for name, every := range map[string]time.Duration{"many commits": 20 * time.Millisecond, "few commits": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := benchOf(t, "fsync = off\nwal_init_zero = off\n")
			b.every = every
			b.exec("CREATE TABLE large AS " + dumped)
			r := b.judged(func() {
				b.until(calm, nil)
				end := b.dumps(6)
				b.until(2*stalled, nil)
				end()
				b.until(calm, nil)
			})

			b.quiet(r)
			for _, f := range r.Findings {
				if f.Rule == "postgres/client-wait" && f.Severity != "info" && b.worst < feltStall {
					t.Errorf("dumps are taken for clients that do not read: %s", f.Summary)
				}
			}
		})
	}
}

// dumps starts dumps whose output is not read, and returns a function that reads it until they have
// ended.
func (b *bench) dumps(n int) (end func()) {
	b.t.Helper()
	var all []*exec.Cmd
	var outputs []io.ReadCloser
	for range n {
		c := exec.CommandContext(b.t.Context(), b.server.Program("pg_dump"), "--table=large", "--dbname="+b.server.Socket("postgres", "postgres"))
		out, err := c.StdoutPipe()
		if err != nil {
			b.t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			b.t.Fatal(err)
		}
		all, outputs = append(all, c), append(outputs, out)
	}

	return func() {
		for i, c := range all {
			if n, err := io.Copy(io.Discard, outputs[i]); err != nil || n < 1<<20 {
				b.t.Errorf("a dump of %d bytes: %v", n, err)
			}
			if err := c.Wait(); err != nil {
				b.t.Error(err)
			}
		}
	}
}

// An archive_command that fails for over a minute is reported, and so is one that is slower than the
// WAL.
func TestRealArchiver(t *testing.T) {
	if testing.Short() {
		t.Skip("an archiver has to fail for a minute")
	}

	const conf = "fsync = off\nwal_init_zero = off\nmax_wal_size = 128MB\narchive_mode = on\n"
	for _, x := range []struct {
		name, command string
		segments      int // per sample, of 16 MB each
		until         func(samples int, wal float64) bool
		words         string
	}{
		{"fails", "false", 1, func(samples int, _ float64) bool { return samples >= 75 }, "the archiver failed"},
		{"slow", "sleep 2", 5, func(samples int, wal float64) bool { return samples >= 15 && wal > 1.2*(1<<30) },
			"the archiver is slower than the WAL"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			b := benchOf(t, conf+"archive_command = '"+x.command+"'\n")
			b.every = 200 * time.Millisecond
			r := b.judged(func() {
				for samples := 0; !x.until(samples, b.wal()); samples++ {
					b.write(16*x.segments, "SELECT pg_logical_emit_message(false, 'x', repeat('x', 1 << 20))")
					b.until(1, nil)
				}
				b.until(12, nil) // the size of pg_wal is sampled every ten seconds
				// A server that shuts down archives everything first.
				b.exec("ALTER SYSTEM SET archive_command = 'true'")
				b.exec("SELECT pg_reload_conf()")
			})

			b.quiet(r)
			i := slices.IndexFunc(r.Findings, func(f diagnose.Finding) bool { return f.Rule == "postgres/wal-kept" })
			if i < 0 || !strings.Contains(r.Findings[i].Summary, x.words) {
				t.Errorf("the archiver is not named: %s; %+v", r.Verdict, r.Findings)
			}
		})
	}
}

// wal returns the size of pg_wal in bytes.
func (b *bench) wal() float64 {
	b.t.Helper()
	size, err := strconv.ParseFloat(b.exec("SELECT sum(size) FROM pg_ls_waldir()")[0], 64)
	if err != nil {
		b.t.Fatal(err)
	}
	return size
}

// A primary and its standby are members of one cluster: they have the same system identifier, and
// different roles.
func TestRealStandbyIsAMember(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some twenty seconds")
	}

	b := benchOf(t, "fsync = off\nwal_init_zero = off\n")
	standby, err := b.server.Standby(filepath.Join(filepath.Dir(b.server.Dir), "standby"), "")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = standby.Stop() })
	src, err := live.Open(t.Context(), standby.Socket("postgres", "postgres"), recognise.LiveOptions{})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	second := recording.NewMemory(recording.MemoryOptions{})
	read := make(chan error, 1)
	go func() { read <- src.Read(ctx, second, source.Options{Period: time.Second}) }()

	b.judged(func() { b.until(calm, nil) })
	cancel()
	if err := <-read; err != nil {
		t.Fatal(err)
	}

	// Neither version counts the syncs of a WAL receiver while it runs, so only the hosts' figures can
	// compare the two.
	k := judge.Knowledge()
	var members []rules.Membership
	for _, in := range []recording.Reader{b.mem, second} {
		c, err := diagnose.Lay(t.Context(), []recording.Reader{in}, diagnose.Options{Pack: corerules.NewPack([]rules.Knowledge{k})})
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, k.Cluster.Of(c))
	}

	if m := members[0]; m.Name == "" || !m.Leads || m.Follows {
		t.Errorf("the primary: %+v", m)
	}

	if m := members[1]; m.Name != members[0].Name || m.Leads || !m.Follows {
		t.Errorf("the standby: %+v; the primary: %+v", m, members[0])
	}
}
