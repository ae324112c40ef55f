package diagnosis

import (
	"testing"

	"plimsoll/internal/testkit"
)

func TestRecordFor(t *testing.T) {
	for _, c := range []struct {
		missing []string
		given   string
		want    string
	}{
		{[]string{"etcd_disk_wal_fsync_duration_seconds_bucket"}, "", "etcd's own /metrics"},
		{[]string{"node_disk_io_time_seconds_total or mongodb_sys_disks_io_time_ms"}, "",
			"`S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log` on the database's host, or `plimsoll record host` on the database's host, or node_exporter's metrics, or a MongoDB diagnostic.data folder"},
		// One source that has both is enough.
		{[]string{"node_memory_Dirty_bytes", "node_disk_io_time_seconds_total"}, "",
			"`plimsoll record host` on the database's host, or node_exporter's metrics"},
		{[]string{"node_memory_Dirty_bytes", "etcd_x"}, "host", "node_exporter's metrics; and etcd's own /metrics"},
		// A source that was given is not suggested again.
		{[]string{"mongodb_ss_flowControl_timeAcquiringMicros"}, "ftdc", "mongodb_exporter's metrics"},
		{[]string{"mongodb_sys_memory_Dirty_kb"}, "ftdc", "not available: these versions of the sources do not report it"},
		{[]string{"custom"}, "", "a source with custom"},
		{nil, "", "a source with these metrics"},
	} {
		k := known{providersOf(testkit.Pack()), map[string]bool{c.given: true}}
		if got := k.recordFor(c.missing); got != c.want {
			t.Errorf("%q given %q:\n got %s\nwant %s", c.missing, c.given, got, c.want)
		}
	}
}
