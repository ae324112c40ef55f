package emit

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/advise/budget"
)

// budgetTarget is the only target that needs no change.
const budgetTarget = "budget"

// budgets writes what the volumes really give, as the settings of the engine, of the kernel and of
// other databases that want to be told. It needs no change: it describes the layout as it will be.
func budgets(l *Layout, _ *Options) (*Part, error) {
	all := budget.Of(l.After, 1)
	if len(all) == 0 {
		return nil, nil
	}
	p := &Part{Apply: []string{"`budget/volumes.yaml` has what each volume gives for ever: the least of the volume, the machine and what remains when bursts are used up. " +
		"An engine that is told more plans for I/O that does not come."}}
	data := all[0]
	for _, b := range all {
		if b.Volume == "data" {
			data = b
		}
	}
	p.Files = append(p.Files, Text("budget/volumes.yaml", l.Head("#", "What the volumes give.")+volumesText(all)))
	if own := l.deployment.Budget; own != nil {
		files, apply, restarts := own(l, data)
		p.Files, p.Apply, p.Restarts = append(p.Files, files...), append(p.Apply, apply), append(p.Restarts, restarts)
	}
	for _, f := range []struct{ path, text, apply string }{
		{"budget/90-dirty-bytes.conf", l.dirtyText(&data), "`budget/90-dirty-bytes.conf` is for /etc/sysctl.d: no more dirty data in the page cache than the volume writes in a second (Linux, Documentation/admin-guide/sysctl/vm.rst)."},
		{"budget/innodb.cnf", l.innodbText(&data), "`budget/innodb.cnf` is the same for MySQL and MariaDB, for their conf.d."},
		{"budget/io_properties.yaml", l.scyllaText(&data), "`budget/io_properties.yaml` is the same for ScyllaDB, in the place of /etc/scylla.d/io_properties.yaml."},
		{"budget/cockroach.md", l.cockroachText(&data), "`budget/cockroach.md` is the same for CockroachDB, as a flag."},
	} {
		if f.text != "" {
			p.Files, p.Apply = append(p.Files, Text(f.path, f.text)), append(p.Apply, f.apply)
		}
	}
	p.Restarts = append(p.Restarts, "of the databases whose files are here too: ScyllaDB reads io_properties.yaml and CockroachDB its flag when they start. MySQL and MariaDB take `SET GLOBAL innodb_io_capacity_max` and `innodb_io_capacity` without a restart. Linux takes the dirty limits from `sysctl --system`.")
	p.Verify = []string{"`iostat -x 1`: in a checkpoint the volume stays below the figures of `budget/volumes.yaml`."}
	p.Back = []string{"The settings that were there before; none of these files changes data."}
	return p, nil
}

func volumesText(all []budget.Budget) string {
	var b strings.Builder
	b.WriteString("volumes:\n")
	for i := range all {
		v := &all[i]
		fmt.Fprintf(&b, "  %s:\n", v.Volume)
		if v.IOPS > 0 {
			fmt.Fprintf(&b, "    iops: %.0f # %s\n", v.IOPS, limitedBy(v.IOPSBy, v.BurstIOPS))
		}
		if v.BytesPerSec > 0 {
			fmt.Fprintf(&b, "    bytes_per_second: %.0f # %s\n", v.BytesPerSec, limitedBy(v.BytesBy, v.BurstBytesPerSec))
		}
	}
	return b.String()
}

// limitedBy says what a figure is the limit of.
func limitedBy(by string, burst float64) string {
	switch by {
	case "machine":
		return "the machine's baseline, for all its volumes together"
	case "burst":
		return fmt.Sprintf("without the volume's burst, which gives %.0f for a while", burst)
	}
	return "the volume's own"
}

// dirtyText is the kernel's limits, unless the layout has its own.
func (l *Layout) dirtyText(b *budget.Budget) string {
	background, most := b.Dirty()
	if h := &l.After.Host; background == 0 || h.DirtyBackground != 0 || h.Dirty != 0 {
		return ""
	}
	return l.Head("#", "Limits on dirty pages: what the volume writes in a tenth of a second and in a second.") +
		fmt.Sprintf("\nvm.dirty_background_bytes = %d\nvm.dirty_bytes = %d\n", int64(background), int64(most))
}

// The least that InnoDB takes for innodb_io_capacity and innodb_io_capacity_max (MySQL 8.0 manual, "InnoDB
// Startup Options and System Variables").
const innodbLeast = 100

// innodbText is the budget for MySQL and MariaDB (MySQL 8.0 manual, "Configuring InnoDB I/O Capacity").
func (l *Layout) innodbText(b *budget.Budget) string {
	if b.IOPS == 0 {
		return ""
	}
	return l.Head("#", "InnoDB's I/O budget, for MySQL and MariaDB.") + fmt.Sprintf(`
[mysqld]
# Half of the %.0[1]f IOPS that volume %[2]s gives for ever: the other half is left to the log and to reads (assumed).
innodb_io_capacity = %.0[3]f
# All of them.
innodb_io_capacity_max = %.0[4]f
`, b.IOPS, b.Volume, max(b.Background(), innodbLeast), max(b.IOPS, innodbLeast))
}

// scyllaText is the budget as ScyllaDB's io_properties.yaml, in the place of what iotune measures (ScyllaDB
// documentation, "Configuring Disk I/O").
func (l *Layout) scyllaText(b *budget.Budget) string {
	if b.IOPS == 0 || b.BytesPerSec == 0 {
		return ""
	}
	return l.Head("#", "ScyllaDB's I/O budget.") + fmt.Sprintf(`
# What volume %[1]s gives for ever. iotune measures it while a burst lasts.
disks:
  - mountpoint: %[2]q
    read_iops: %.0[3]f
    read_bandwidth: %.0[4]f
    write_iops: %.0[3]f
    write_bandwidth: %.0[4]f
`, b.Volume, l.place(b.Volume).Mount, b.IOPS, b.BytesPerSec)
}

// cockroachText is the budget for CockroachDB, whose flag has two forms (cockroachdb/cockroach#120895).
func (l *Layout) cockroachText(b *budget.Budget) string {
	if b.BytesPerSec == 0 {
		return ""
	}
	return fmt.Sprintf(`# CockroachDB's I/O budget

Volume %[1]s gives %.0[3]f bytes a second for ever. For `+"`cockroach start`"+`, from 24.1 on:

    --store=path=%[2]s,provisioned-rate=bandwidth=%.0[4]fMiB/s

Before 24.1 the flag names the disk as well, as in /proc/diskstats:

    --store=path=%[2]s,provisioned-rate=disk-name=DEVICE:bandwidth=%.0[4]fMiB/s

Where all stores are alike, the cluster setting kv.store.admission.provisioned_bandwidth does the same.
`, b.Volume, l.place(b.Volume).Mount, b.BytesPerSec, math.Floor(b.BytesPerSec/(1<<20)))
}
