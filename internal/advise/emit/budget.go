package emit

import (
	"fmt"
	"strings"

	"plimsoll/internal/advise/budget"
)

// budgetTarget is the only target that needs no change.
const budgetTarget = "budget"

// budgets writes the volumes' sustained limits as settings of the engine, the kernel and other databases.
// It does not depend on changes: it describes the final layout.
func budgets(transition *Transition, _ *Options) (*Part, error) {
	all := budget.Of(transition.After, 1)
	if len(all) == 0 {
		return nil, nil
	}

	part := &Part{Apply: []string{"`budget/volumes.yaml` has each volume's sustained limits: the minimum of the volume's and the machine's, after bursts are used up. " +
		"An engine with higher settings plans for I/O that the volume cannot deliver."}}

	// Engines pace writes to their data. Without a volume of that name, use the first one.
	data := all[0]
	for _, b := range all {
		if b.Volume == "data" {
			data = b
		}
	}

	part.Files = append(part.Files, Text("budget/volumes.yaml",
		transition.Head("#", "The volumes' sustained limits.")+volumesText(all)))
	if own := transition.deployment.Budget; own != nil {
		part.add(own(transition, data))
	}

	if text := transition.dirtyText(&data); text != "" {
		part.Files = append(part.Files, Text("budget/90-dirty-bytes.conf", text))
		apply, back := sysctlSteps("budget/90-dirty-bytes.conf", "budget",
			[]string{"vm.dirty_background_ratio", "vm.dirty_background_bytes", "vm.dirty_ratio", "vm.dirty_bytes"})
		part.Apply = append(
			part.Apply, "`budget/90-dirty-bytes.conf` limits dirty data in the page cache to what the volume writes in a second (Linux, Documentation/admin-guide/sysctl/vm.rst). On each machine, as root; the first line saves the present values, once:\n\n"+apply)
		part.Back = append(part.Back, "The kernel's limits, on each machine, as root:\n\n"+back)
	}

	part.Restarts = append(part.Restarts, "Linux applies the dirty limits without a restart.")
	if transition.others != nil {
		part.add(transition.others(transition, data))
	}

	part.Verify = []string{"`iostat -x 1`: during a checkpoint the volume stays below the limits in `budget/volumes.yaml`."}

	return part, nil
}

// add appends the files and steps of another part.
func (p *Part) add(more *Part) {
	p.Files = append(p.Files, more.Files...)
	p.Apply = append(p.Apply, more.Apply...)
	p.Back = append(p.Back, more.Back...)
	p.Restarts = append(p.Restarts, more.Restarts...)
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
			fmt.Fprintf(&b, "    bytes_per_second: %.0f # %s\n", v.BytesPerSec,
				limitedBy(v.BytesBy, v.BurstBytesPerSec))
		}
	}
	return b.String()
}

// limitedBy describes where a limit comes from.
func limitedBy(by string, burst float64) string {
	switch by {
	case "machine":
		return "the machine's baseline, for the total of its volumes"
	case "burst":
		return fmt.Sprintf("without the volume's burst of %.0f for a limited time", burst)
	}
	return "the volume's own limit"
}

// dirtyText returns the kernel's limits, or "" if the layout has its own.
func (l *Transition) dirtyText(b *budget.Budget) string {
	background, most := b.Dirty()
	// The layout's own dirty limits are more specific: do not contradict them.
	if h := &l.After.Host; background == 0 || h.DirtyBackground != 0 || h.Dirty != 0 {
		return ""
	}
	return l.Head("#",
		"Limits on dirty pages: as much as the volume writes in a tenth of a second and in a second.") +
		fmt.Sprintf("\nvm.dirty_background_bytes = %d\nvm.dirty_bytes = %d\n", int64(background), int64(most))
}
