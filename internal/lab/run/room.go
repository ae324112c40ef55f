//go:build linux

package run

import (
	"context"
	"fmt"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/base/units"
)

// keepBytes is the memory that images leave for the rest of the machine; lab/disk leaves the same amount.
const keepBytes = units.GiB

// fits checks before mounting whether images in memory have space for the loaded documents. What
// the run adds, and what an engine writes in addition to its documents, only shows later.
func (x *experiment) fits() error {
	if x.opt.Images != "" {
		return nil
	}

	available, err := procfs.Memory("MemAvailable")
	if err != nil {
		return err
	}

	w := x.sc.Workloads()
	documents := 0.0
	for k := range x.sc.MemberCount() {
		// An image is at most as large as its volume. (Streams have files instead of documents,
		// which fit on their volumes.)
		volumes := 0.0
		for _, v := range x.sc.VolumesOf(k + 1) {
			volumes += float64(v.Value.Size)
		}
		documents += min(float64(w.Documents())*float64(w.DocumentSize()), volumes)
	}

	if most := float64(max(units.Size(available)-keepBytes, 0)); documents > most {
		return fmt.Errorf(
			"%s of documents do not fit into the volumes' images, which are in memory: only %s are available. "+
				"Keep the images in files (--images DIR), or use fewer documents (--set workload.keys.count=...)",
			units.Bytes(documents), units.Bytes(most))
	}

	return nil
}

// explainFull adds to an error that an image was full, if that was the cause: each engine reports
// it differently.
func (x *experiment) explainFull(ctx context.Context, err error) error {
	all, asked := x.m.status(context.WithoutCancel(ctx))
	if asked != nil || x.opt.Images != "" {
		return err
	}
	for _, s := range all.Volumes {
		if s.Refused > 0 {
			return fmt.Errorf("volume %s: its image is in memory, which ran out after %s: keep it in a file (--images DIR), or use fewer documents (%w)",
				s.Name, units.Bytes(float64(s.Resident)), err)
		}
	}
	return err
}
