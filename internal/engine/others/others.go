// Package others covers databases that Plimsoll does not model but that have settings for the
// capacity of their volume: MySQL, MariaDB, ScyllaDB and CockroachDB.
package others

import (
	"fmt"
	"math"

	"plimsoll/internal/advise/budget"
	"plimsoll/internal/advise/emit"
)

// Budgets writes the data volume's capacity as settings of these databases, with instructions for using and
// undoing each file.
func Budgets(l *emit.Transition, data budget.Budget) *emit.Part {
	p := &emit.Part{}
	for _, f := range []struct{ path, text, apply, back string }{
		{"budget/innodb.cnf", innodb(l, &data),
			"`budget/innodb.cnf` is the same for MySQL and MariaDB, for their conf.d. Keep what `SELECT @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max` prints.",
			"MySQL and MariaDB: remove the file from conf.d, and `SET GLOBAL` both settings to what the query printed. innodb_io_capacity cannot exceed innodb_io_capacity_max, so the order is: raise the second first, lower it last."},
		{"budget/io_properties.yaml", scylla(l, &data),
			"`budget/io_properties.yaml` is the same for ScyllaDB. Keep a copy (`sudo cp -np /etc/scylla.d/io_properties.yaml /etc/scylla.d/io_properties.yaml.before-budget`) before it takes the place of /etc/scylla.d/io_properties.yaml.",
			"ScyllaDB: put the copy back and restart node by node."},
		{"budget/cockroach.md", cockroach(l, &data), "`budget/cockroach.md` is the same for CockroachDB, as a flag.",
			"CockroachDB: start without `provisioned-rate`, node by node."},
	} {
		// An empty text means that the volume's limits lack the figure that this setting needs.
		if f.text != "" {
			p.Files = append(p.Files, emit.Text(f.path, f.text))
			p.Apply, p.Back = append(p.Apply, f.apply), append(p.Back, f.back)
		}
	}

	// The restarts cover all of the files, even if a user applies only one of them.
	p.Restarts = []string{"of the databases whose files are also here: ScyllaDB reads io_properties.yaml and CockroachDB its flag at startup. MySQL and MariaDB accept `SET GLOBAL innodb_io_capacity_max` and `innodb_io_capacity` without a restart."}
	return p
}

// innodbLeast is the minimum of innodb_io_capacity and innodb_io_capacity_max (MySQL 8.0 manual,
// "InnoDB Startup Options and System Variables").
const innodbLeast = 100

// innodb returns the budget for MySQL and MariaDB (MySQL 8.0 manual, "Configuring InnoDB I/O
// Capacity").
func innodb(l *emit.Transition, b *budget.Budget) string {
	if b.IOPS == 0 {
		return ""
	}
	return l.Head("#", "InnoDB's I/O budget, for MySQL and MariaDB.") + fmt.Sprintf(`
[mysqld]
# Half of the %.0[1]f IOPS that volume %[2]s sustains: the other half is left to the log and to reads (assumed).
innodb_io_capacity = %.0[3]f
# All of them.
innodb_io_capacity_max = %.0[4]f
`, b.IOPS, b.Volume, max(b.Background(), innodbLeast), max(b.IOPS, innodbLeast))
}

// scylla returns the budget as ScyllaDB's io_properties.yaml, in place of iotune's measurements
// (ScyllaDB documentation, "Configuring Disk I/O").
func scylla(l *emit.Transition, b *budget.Budget) string {
	if b.IOPS == 0 || b.BytesPerSec == 0 {
		return ""
	}
	return l.Head("#", "ScyllaDB's I/O budget.") + fmt.Sprintf(`
# What volume %[1]s sustains; iotune would measure the burst.
disks:
  - mountpoint: %[2]q
    read_iops: %.0[3]f
    read_bandwidth: %.0[4]f
    write_iops: %.0[3]f
    write_bandwidth: %.0[4]f
`, b.Volume, l.Mount(b.Volume), b.IOPS, b.BytesPerSec)
}

// cockroach returns the budget for CockroachDB, whose flag has two forms
// (cockroachdb/cockroach#120895).
func cockroach(l *emit.Transition, b *budget.Budget) string {
	if b.BytesPerSec == 0 {
		return ""
	}
	return fmt.Sprintf(`# CockroachDB's I/O budget

Volume %[1]s sustains %.0[3]f bytes per second. For `+"`cockroach start`"+`, from 24.1 on:

    --store=path=%[2]s,provisioned-rate=bandwidth=%.0[4]fMiB/s

Before 24.1 the flag names the disk as well, as in /proc/diskstats:

    --store=path=%[2]s,provisioned-rate=disk-name=DEVICE:bandwidth=%.0[4]fMiB/s

If all stores are alike, the cluster setting kv.store.admission.provisioned_bandwidth does the same.
`, b.Volume, l.Mount(b.Volume), b.BytesPerSec, math.Floor(b.BytesPerSec/(1<<20)))
}
