package emit

import (
	_ "embed"
	"fmt"
	"path"
	"strings"
)

// logScript moves a log on a machine, after the lines that define which.
//
//go:embed log.bash
var logScript string

// A LogMove is what an operator needs to know to move an engine's log on a machine.
type LogMove struct {
	// Unit is the engine's systemd unit, and Data its data folder, following Debian's packages.
	Unit, Data string
	// Next is the order of the members, and what to wait for before the next one.
	Next string
}

// moves reports whether a disk is the log's first separate volume, to which a script moves the log.
func (l *Transition) moves(d *disk) bool {
	return d.action == created && l.deployment.Log != nil && l.deployment.Move != nil && d.volume == l.log &&
		!d.after.snapshot
}

// arrives describes how to start using a new, empty volume.
func (l *Transition) arrives(d *disk) string {
	if l.moves(d) {
		return d.path +
			" is new and empty. The steps of `lvm` (`--target lvm` writes its scripts) create its file system, mount it next to the log, and move the log there. Do not mount it in place of the log."
	}
	return fmt.Sprintf("%s is new: the `lvm` target creates its file system and mounts it. %s", d.path,
		l.bring(d.volume))
}

// logIn returns the log's path below the data folder.
func (l *Transition) logIn() string {
	data, log := l.deployment.Log.Dir("/data", nil, func(string) string { return "" })
	return strings.TrimPrefix(log, data+"/")
}

// logFile returns the path of the script that moves the log to a disk.
func logFile(d *disk) string { return "lvm/" + d.name + "-log.sh" }

// logMove writes the script that moves a log to its new volume and back, and when to run it. The order is
// that of `plimsoll rollout`, which does the same automatically.
func (l *Transition) logMove(p *Part, d *disk) {
	in, to := l.logIn(), l.deployment.Log.Mount
	text := "#!/bin/bash\n" + l.Head("#", "Moves the log to the volume "+d.name+", and back.", d.why()) +
		moveHead(l.deployment.Log, in, to, "", "")
	p.Files = append(p.Files, File{Path: logFile(d), Text: []byte(text + machineScript()), Mode: executable})
	how := l.deployment.Move
	vars := fmt.Sprintf("    export UNIT=%s DATA=%s   # adapt to this machine\n", how.Unit, how.Data)
	p.Apply = append(p.Apply,
		fmt.Sprintf(
			"Now move the log. `plimsoll rollout PLAN.json --site SITE.yaml` does this and the rest automatically, and records before and after (docs/rollout.md). By hand, on each machine, %s:\n\n"+
				vars+
				"    %[2]s look\n"+
				"    %[2]s apply\n\n"+
				"`apply` stops the unit, copies `DATA/%[3]s` to `%[4]s`, compares both, keeps the old folder as `DATA/%[3]s.plimsoll-old`, leaves a link, and starts the unit again. If the log cannot move, the unit starts on its old log; if it was interrupted, run it again. If the volume is not mounted, the link is dangling, and the database does not start; it never starts on an empty log.",
			how.Next, logFile(d), in, path.Join(to, path.Base(in))))

	p.Verify = append(p.Verify,
		fmt.Sprintf("%s: `%[2]s check` confirms that the log is on its volume. Once the improvement is proved: `%[2]s finish` removes `DATA/%[3]s.plimsoll-old`.",
			d.path, logFile(d), in))
	p.Back = append(p.Back,
		fmt.Sprintf(
			"%[1]s: everything that the engine acknowledged since the move is only on the new volume, so the log has to move back first. On each machine, %[2]s:\n\n"+
				vars+
				"    %[3]s undo && lvm/%[4]s.sh --undo\n\n"+
				"The second command unmounts the volume and removes its line from `/etc/fstab`; otherwise the next boot waits for the volume. **Never start on `%[5]s.plimsoll-old`: it lacks everything acknowledged since the move.**",
			d.path, how.Next, logFile(d), d.name, in))

	p.Restarts = append(p.Restarts,
		d.path+": the engine of each machine, one at a time, while its log is copied and compared.")
}

// moveHead returns the lines of a log's script that define which log moves where. Without a data folder
// and a unit, the script takes them from its arguments and environment.
func moveHead(log *LogInPod, in, to, data, unit string) string {
	return fmt.Sprintf("set -euo pipefail\n\nreadonly log_in=%s pattern='%s'\nmount_at=${MOUNT:-%s}\n"+
		"data=${DATA:-%s} unit=${UNIT:-%s}\n", in, log.Files, to, data, unit)
}

// machineScript returns the script for a machine, with the steps and functions of the init containers. It
// extends the function same to check that nothing uses the files: on a machine, unlike in an init
// container, something may have started the database in the meantime.
func machineScript() string {
	steps := func(script string) string {
		// Rename the original function, so that the new function with its name can call it.
		script = strings.ReplaceAll(script, "same() {", "same_bytes() {")
		script = strings.ReplaceAll(script, ": the database is not started\"", ": do not start the database\"")
		script = strings.ReplaceAll(script, "list() {", "same() { same_bytes \"$@\" && unused; }\nlist() {")
		_, script, _ = strings.Cut(script, "set -eu\n")
		return indentedBy(script)
	}
	text := strings.Replace(logScript, "\t. ./podmove.sh\n", steps(podMove), 1)
	text = strings.Replace(text, "\t. ./podback.sh\n", steps(podBack), 1)
	_, text, _ = strings.Cut(text, "\n")
	return withFunctions(text)
}

// indentedBy indents lines by a tab, and converts every two spaces of existing indentation to a tab.
func indentedBy(script string) string {
	var b strings.Builder
	for line := range strings.Lines(script) {
		rest := strings.TrimLeft(line, " ")
		b.WriteString(strings.Repeat("\t", 1+(len(line)-len(rest))/2) + rest)
	}
	return b.String()
}
