package main

import (
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine"
	"plimsoll/internal/present/results"
)

// moveFlags are the flags of emit --move-log, which needs no scenario.
var moveFlags = []string{"data", "unit", "mount", "filesystem"}

// addMoveFlags adds the flags for the scripts that move a log.
func (o *emitOptions) addMoveFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	movers := emit.Movers(engine.All().Deployments())
	f.StringVar(&o.move.Engine, "move-log", "",
		"write only the scripts that move the log of a database on a host to a volume: "+strings.Join(movers, ", "))
	f.StringVar(&o.move.Data, "data", "", "with --move-log: the database's data folder")
	f.StringVar(&o.move.Unit, "unit", "", "with --move-log: the database's systemd unit")
	f.StringVar(&o.move.Mount, "mount", "",
		"with --move-log: where to mount the volume (default: a folder named after the unit)")
	f.StringVar(&o.move.Filesystem, "filesystem", "xfs", "with --move-log: xfs or ext4")
	complete(cmd, "move-log", movers...)
	complete(cmd, "filesystem", "xfs", "ext4")
}

// validateMove checks the flags of --move-log, and that no flag for a scenario is given with it.
func (o *emitOptions) validateMove(cmd *cobra.Command, args []string) error {
	changed := cmd.Flags().Changed
	if !changed("move-log") {
		for _, name := range moveFlags {
			if changed(name) {
				return usagef("plimsoll emit --move-log ENGINE --data DIR --unit UNIT",
					"emit: --%s is for --move-log", name)
			}
		}
		return nil
	}

	for _, name := range []string{"set", "target", "statefulset", "container", "claim"} {
		if changed(name) {
			return usagef("leave it out", "emit: --%s is for a layout, and --move-log moves only a log", name)
		}
	}

	switch {
	case len(args) > 0:
		return usagef("leave it out", "emit: --move-log needs no plan or scenario, but got %s", args[0])
	case o.move.Data == "" || o.move.Unit == "":
		return usagef("systemctl status shows the unit, and the database itself its data folder",
			"emit: --move-log needs --data and --unit")
	}
	return nil
}

// runMove writes the scripts that move a log.
func (o *emitOptions) runMove(a *app) error {
	files, err := emit.MoveFiles(a.deployments(), o.move)
	if err != nil {
		return asEmitFailure(err)
	}

	r := &emit.Result{Files: files}
	report := r.FileReport()
	report.Dir = o.dir
	if o.dir != "" {
		if err := o.write(r, report); err != nil {
			return asEmitFailure(err)
		}
	}
	return o.show(a, r, report, results.Emit(report))
}
