package ftdc

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/engine/mongodb/ftdctest"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// TestSchemas checks changes between chunks, and samples of different servers.
func TestSchemas(t *testing.T) {
	start := func(s int64) ftdctest.Field { return ftdctest.Field{Key: "start", Value: ftdctest.Date(t0 + s*1000)} }
	field := func(k string, v any) ftdctest.Field { return ftdctest.Field{Key: k, Value: v} }
	w := read(t, folder(t, map[string][]byte{"metrics.1": file(t, []doc{
		// An int32 in the reference document says nothing about the range.
		{start(0), field("number", int32(1)), field("same", int32(5))},
		{start(1), field("number", int64(1)<<40), field("same", 5.9)},
		{start(2), field("number", int64(math.MinInt64)), field("same", int64(5))},
		// A section appears and disappears again.
		{start(3), field("number", int64(3)), field("section", doc{field("x", int64(9))})},
		{start(4), field("number", int64(4))},
		// 8.x puts everything into sections of the process.
		{start(5), field("shard", doc{field("number", int64(5)), field("serverStatus", doc{field("opLatencies", doc{field("writes", doc{field("ops", int64(50))})})})})},
		// Two mounts with the same name: the first counts.
		{start(6), field("systemMetrics", doc{field("mounts", doc{
			field("/boot/efi", doc{field("free", int64(1))}), field("/boot/efi", doc{field("free", int64(2))}),
		})})},
		// Two names that map to the same metric.
		{start(7), field("a b", int64(1)), field("a-b", int64(2))},
		// Windows.
		{start(8), field("systemMetrics", doc{field("disks", doc{field("0 C:", doc{field(`\PhysicalDisk\Disk Write Bytes/sec`, int64(77))})})})},
		// Without a top-level "start", a section's is used.
		{field("common", doc{start(9), field("number", int64(9))})},
	})}), source.Options{})

	want := map[string][]sample{
		`{__name__="mongodb_number"}`:                                                          {{0, 1}, {1, 1 << 40}, {2, math.MinInt64}, {3, 3}, {4, 4}, {5, 5}, {9, 9}},
		`{__name__="mongodb_same"}`:                                                            {{0, 5}, {1, 5}, {2, 5}},
		`{__name__="mongodb_section_x"}`:                                                       {{3, 9}},
		`{__name__="mongodb_ss_opLatencies_ops", op_type="writes"}`:                            {{5, 50}},
		`{__name__="mongodb_sys_mounts_free", mount_point="/boot/efi"}`:                        {{6, 1}},
		`{__name__="mongodb_a_b"}`:                                                             {{7, 1}},
		`{__name__="mongodb_sys_disks_PhysicalDisk_Disk_Write_Bytes_sec", device_name="0 C:"}`: {{8, 77}},
	}

	for key, col := range want {
		for i := range col {
			col[i].ms = t0 + col[i].ms*1000
		}
		if !slices.Equal(w.series[key], col) {
			t.Errorf("%s is %v, want %v", key, w.series[key], col)
		}
	}

	if k := w.kinds(); k[recording.NoteLimit] != 1 || len(w.notes) != 1 || !strings.Contains(w.notes[0].Text, "a-b") {
		t.Errorf("notes %+v, want one about the name that two metrics share", w.notes)
	}
}

// Documents of types 0 and 2 identify the server; without them, a chunk does.
func TestMetadata(t *testing.T) {
	var b bytes.Buffer
	server := ftdctest.NewServer(1)
	if err := server.Metadata(&b); err != nil {
		t.Fatal(err)
	}

	enc := ftdctest.NewEncoder(&b, 10)
	parameter := func(count int, fields ...ftdctest.Field) {
		if err := enc.Settings(t0, count, doc{{Key: "start", Value: ftdctest.Date(t0)}, {Key: "getParameter", Value: doc(fields)}}); err != nil {
			t.Fatal(err)
		}
	}

	parameter(0, ftdctest.Field{Key: "syncdelay", Value: 60.0}, ftdctest.Field{Key: "journalCommitInterval", Value: int32(100)})
	parameter(1, ftdctest.Field{Key: "syncdelay", Value: 20.0})
	b.Write(file(t, []doc{{
		{Key: "start", Value: ftdctest.Date(t0)},
		{Key: "serverStatus", Value: doc{{Key: "host", Value: "another.example"}, {Key: "version", Value: "1.0"}, {Key: "process", Value: "mongod"}, {Key: "storageEngine", Value: doc{{Key: "name", Value: "wiredTiger"}}}}},
		{Key: "n", Value: int64(1)},
	}}))

	s := read(t, folder(t, map[string][]byte{"metrics.1": b.Bytes()}), source.Options{}).source
	if s.Version != "8.0.4" || s.Host != "db0.example" {
		t.Errorf("version %q, host %q", s.Version, s.Host)
	}

	for key, want := range map[string]string{
		"os": "Ubuntu", "os_type": "Linux", "kernel": "6.8.0", "cores": "8", "memory_bytes": "34359738368", "page_size_bytes": "4096",
		"cache_bytes": "8589934592", "dbpath": "/data/db", "replica_set": "rs0", "parameter.syncdelay": "20",
		"journal_commit_interval_ms": "100", "process": "mongod", "storage_engine": "wiredTiger",
	} {
		if s.Facts[key] != want {
			t.Errorf("fact %s is %q, want %q", key, s.Facts[key], want)
		}
	}
}

// On Debian, servers up to 3.6 give a line of /etc/os-release as the name.
func TestOSRelease(t *testing.T) {
	var b bytes.Buffer
	if err := ftdctest.NewEncoder(&b, 10).Metadata(t0, doc{{Key: "hostInfo", Value: doc{{Key: "os", Value: doc{{Key: "name", Value: `PRETTY_NAME="Debian GNU/Linux 8 (jessie)"`}}}}}}); err != nil {
		t.Fatal(err)
	}
	b.Write(file(t, ticks(0, 0, 1, 2)))
	if got := read(t, folder(t, map[string][]byte{"metrics.1": b.Bytes()}), source.Options{}).source.Facts["os"]; got != "Debian GNU/Linux 8 (jessie)" {
		t.Errorf("the system is %q", got)
	}
}
