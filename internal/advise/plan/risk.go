package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// The annual failure rate of an EBS volume that is not io2 (Amazon EBS product page, "Durability":
// 99.8 to 99.9 %).
const failuresLow, failuresHigh = 0.001, 0.002

// modified is what changing a volume in use means (EC2 API, ModifyVolume, 2026;
// Google Cloud documentation, "Modify a Hyperdisk", 2025; Azure documentation, "Deploy a Premium
// SSD v2", 2025).
var modified = map[string]string{
	"aws":   "slower while it is optimised, and changed again only after that, at most four times in 24 hours",
	"gcp":   "its figures can be changed once in four hours",
	"azure": "its figures can be changed four times in 24 hours",
}

// risks are those of a layout itself and of its changes.
func (p *planner) risks(sc *scenario.Scenario, o *outcome) []Risk {
	out := []Risk{}
	add := func(kind, format string, args ...any) {
		out = append(out, Risk{kind, fmt.Sprintf(format, args...)})
	}

	moved, restores := false, []string(nil)
	for _, v := range sc.Volumes {
		if v.Value.Local() {
			add(
				"ephemeral", "volumes.%s is the instance's own disk: empty after the instance was stopped, lost, or moved to other hardware (a reboot leaves it). %s",
				v.Name, p.ephemeral(sc, v.Name))
		}

		provider := ""
		if t, err := catalog.Type(v.Value.Type); err == nil {
			provider = t.Provider
		}

		if n := v.Value.Members(); n > 1 && provider != "aws" {
			add("stripe", "volumes.%s: losing one of %d volumes loses everything", v.Name, n)
		} else if n > 1 {
			add(
				"stripe", "volumes.%s: losing one of %d volumes loses everything: %.1f to %.1f %% a year instead of %.1f to %.1f",
				v.Name, n,
				100*lostOf(n, failuresLow), 100*lostOf(n, failuresHigh), 100*failuresLow, 100*failuresHigh)
		}

		was := p.now.Volumes.Get(v.Name)
		if was == nil && !v.Value.Local() {
			add(
				"snapshots", "volumes.%s is apart: a snapshot of one volume is no longer a backup; take them together (multi-volume snapshots), or from the engine",
				v.Name)
		}

		if v.Value.Local() { // synced again, not restored from a snapshot
			continue
		}

		if text := restored(&v.Value); text != "" && !slices.Contains(restores, text) {
			restores = append(restores, text)
		}

		moved = moved || was != nil && (was.Members() != v.Value.Members() ||
			was.Type != v.Value.Type && (was.Local() || provider != "aws")) ||
			sc.Host.FileSystem != p.now.Host.FileSystem
		if was != nil && was.Type != v.Value.Type && !moved ||
			was != nil && (was.IOPS != v.Value.IOPS || was.Throughput != v.Value.Throughput) && !moved {
			add("modification", "volumes.%s is changed in use: %s", v.Name, modified[provider])
		}
	}

	if moved {
		text := "data moves to a new volume: after a restore from a snapshot, the first access to each block is slow"
		if len(restores) > 0 {
			text += ", until all of it is there: " + strings.Join(restores, "; ") +
				". from_snapshot: true simulates it"
		}
		add("first-touch", "%s", text)
	}

	for _, c := range credits(sc, o) {
		add("credits", "%s", c.Text)
	}

	if m := sc.MemberCount(); m < p.now.MemberCount() {
		add("members", "%d members instead of %d", m, p.now.MemberCount())
	}

	return out
}

// restored says how long it takes until all of a volume is there that was made from a snapshot; ""
// if that is not known.
func restored(o *catalog.Order) string {
	t, err := catalog.Type(o.Type)
	if err != nil || o.Size == 0 {
		return ""
	}
	touched, ordered, ok := t.Initialized(o.Size)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s of %s take %s if read once, %s with a volume initialization rate of 300 MiB/s (charged; the price is not known here)",
		o.Size.Exact(), t.Name, units.Seconds(float64(touched)/1e9), units.Seconds(float64(ordered)/1e9))
}

// ephemeral says what the loss of an instance's own disk means to a deployment.
func (p *planner) ephemeral(sc *scenario.Scenario, volume string) string {
	if e := p.opt.profileOf(sc); e.Loss != nil {
		if text := e.Loss(volume); text != "" {
			return text
		}
	}
	if volume == "data" {
		return "This deployment shows no other copy: the database is lost with it, except for backups"
	}
	return "This deployment shows no other copy: what was acknowledged since the last checkpoint is lost with it"
}

// lostOf is the probability that at least one of n is lost.
func lostOf(n int, each float64) float64 { return 1 - math.Pow(1-each, float64(n)) }

// credits are the buckets of a layout's volumes and instance that its load empties.
func credits(sc *scenario.Scenario, o *outcome) []simulate.Credit {
	if o == nil || o.result == nil {
		return nil
	}
	return simulate.CreditsOf(sc, o.result)
}
