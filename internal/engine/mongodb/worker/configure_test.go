//go:build linux

package worker

import (
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	wiredtiger "plimsoll/internal/engine/mongodb/model"
)

func TestConfigure(t *testing.T) {
	no := false
	for name, tt := range map[string]struct {
		change      func(*wiredtiger.Config)
		at          place
		major       int
		opt         options
		connection  []string // substrings of it
		documents   string
		oplog       bool
		warned      string
		wrong       string
		without     string
		connections int
		wantThreads int
	}{
		"mongod's": {
			connection: []string{
				"cache_size=1073741824", "eviction=(threads_min=4,threads_max=4)", "eviction_target=80,", "eviction_trigger=95,", "eviction_dirty_target=5,",
				"eviction_dirty_trigger=20,", "eviction_checkpoint_target=1,", `log=(enabled=true,file_max=100000000,path="/j")`, "session_max=264",
			},
			documents: "log=(enabled=false)", oplog: true, without: "io_capacity", connections: 100, wantThreads: 100,
		},
		"alone": {change: func(c *wiredtiger.Config) { c.Oplog = &no }, documents: "log=(enabled=true)", connections: 1000, wantThreads: tickets},
		"halves of a percent are bytes": {
			change: func(c *wiredtiger.Config) {
				c.EvictionDirtyTarget = 0.025
				c.EvictionTarget = 0.05
				c.EvictionCheckpointTarget = 0
			},
			connection: []string{"eviction_dirty_target=26843545,", "eviction_target=53687091,", "eviction_checkpoint_target=0,"}, documents: "", oplog: true,
		},
		"paced":             {change: func(c *wiredtiger.Config) { c.IOCapacity = 40e6 }, connection: []string{"io_capacity=(total=40000000)"}, oplog: true},
		"updates, old":      {change: func(c *wiredtiger.Config) { c.EvictionUpdatesTarget = 0.02 }, warned: "no eviction_updates", without: "eviction_updates", oplog: true},
		"updates, new":      {change: func(c *wiredtiger.Config) { c.EvictionUpdatesTarget = 0.02 }, major: 11, connection: []string{"eviction_updates_target=2"}, oplog: true},
		"no log":            {change: func(c *wiredtiger.Config) { c.Journal = &no }, connection: []string{"log=(enabled=false)"}, oplog: true},
		"small leaves":      {change: func(c *wiredtiger.Config) { c.LeafPage = 1000 }, documents: "allocation_size=512,internal_page_max=512,leaf_page_max=1024", oplog: true},
		"a quoted path":     {at: place{"/d", `/a"b`}, wrong: "quotation mark"},
		"a path with spans": {at: place{"/d", "/a b,c(d"}, connection: []string{`path="/a b,c(d"`}, oplog: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := wiredtiger.Defaults()
			if tt.change != nil {
				tt.change(&cfg)
			}

			at := tt.at
			if at.home == "" {
				at = place{"/d", "/j"}
			}

			c, warnings, err := configure(&cfg, at, max(tt.connections, 1), max(tt.major, 3), tt.opt)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("error: %v", err)
				}
				return
			}

			if err != nil {
				t.Fatal(err)
			}

			for _, want := range tt.connection {
				if !strings.Contains(c.connection, want) {
					t.Errorf("%s is not in %s", want, c.connection)
				}
			}

			if tt.without != "" && strings.Contains(c.connection, tt.without) {
				t.Errorf("%s is in %s", tt.without, c.connection)
			}

			if !strings.Contains(c.documents, tt.documents) || (c.oplog != "") != tt.oplog {
				t.Errorf("documents %q, oplog %q", c.documents, c.oplog)
			}

			if got := strings.Join(warnings, " "); (got != "") != (tt.warned != "") || !strings.Contains(got, tt.warned) {
				t.Errorf("warned: %q", got)
			}

			if tt.wantThreads != 0 && c.threads != tt.wantThreads {
				t.Errorf("%d threads", c.threads)
			}
		})
	}
}

func TestRandomPercent(t *testing.T) {
	for left, want := range map[units.Ratio]byte{1: 100, 0.5: 46, 0.04: 0, 0.01: 0} {
		if got := randomPercent(left); got != want {
			t.Errorf("%v left: %d %%, not %d", left, got, want)
		}
	}
}
