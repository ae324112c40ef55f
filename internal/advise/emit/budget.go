package emit

import (
	"fmt"
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
		files, apply := own(l, data)
		p.Files, p.Apply = append(p.Files, files...), append(p.Apply, apply)
	}
	for _, f := range []struct{ path, text, apply string }{
		{"budget/90-dirty-bytes.conf", l.dirtyText(&data), "`budget/90-dirty-bytes.conf` is for /etc/sysctl.d: no more dirty data in the page cache than the volume writes in a second (Linux, Documentation/admin-guide/sysctl/vm.rst)."},
		{"budget/other-databases.md", l.othersText(&data), "`budget/other-databases.md` has the same for databases that are told their disk's speed."},
	} {
		if f.text != "" {
			p.Files, p.Apply = append(p.Files, Text(f.path, f.text)), append(p.Apply, f.apply)
		}
	}
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

// othersText is the same budget for databases that Plimsoll does not model. Sources: MySQL's manual,
// "InnoDB I/O capacity"; ScyllaDB's iotune and its io_properties.yaml; `cockroach start --help`,
// provisioned-rate.
func (l *Layout) othersText(b *budget.Budget) string {
	if b.IOPS == 0 || b.BytesPerSec == 0 {
		return ""
	}
	mount := l.place(b.Volume).Mount
	return fmt.Sprintf(`# The same budget for other databases

On volume %[1]s: %.0[2]f IOPS and %.0[3]f bytes a second. Work that may wait gets half of the IOPS, so that the
other half is left to the log and to reads (assumed).

MySQL, MariaDB (my.cnf):

    [mysqld]
    innodb_io_capacity     = %.0[4]f
    innodb_io_capacity_max = %.0[2]f

ScyllaDB (/etc/scylla.d/io_properties.yaml, instead of what iotune measured while the burst lasted):

    disks:
      - mountpoint: %[5]s
        read_iops: %.0[2]f
        read_bandwidth: %.0[3]f
        write_iops: %.0[2]f
        write_bandwidth: %.0[3]f

CockroachDB (cockroach start; DEVICE is the disk's name in /proc/diskstats):

    --store=path=%[5]s,provisioned-rate=disk-name=DEVICE:bandwidth=%.0[6]fMiB/s
`, b.Volume, b.IOPS, b.BytesPerSec, b.Background(), mount, b.BytesPerSec/(1<<20))
}
