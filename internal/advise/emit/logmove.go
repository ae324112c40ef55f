package emit

import (
	_ "embed"
	"fmt"
	"path"
	"strings"
)

// logScript moves a log on a machine, after the lines that say which.
//
//go:embed log.bash
var logScript string

// A LogMove says what a person needs to know who moves an engine's log on a machine.
type LogMove struct {
	// Unit is the engine's systemd unit, and Data its data folder, as Debian's packages have them.
	Unit, Data string
	// Next says in which order members go, and what to wait for before the next one.
	Next string
}

// moves reports whether a disk is the first volume of its own that the log gets, to which a script moves it.
func (l *Layout) moves(d *disk) bool {
	return d.fate == created && l.deployment.Log != nil && l.deployment.Move != nil && d.volume == l.log &&
		!d.after.snapshot
}

// arrives says how a new, empty volume comes into use.
func (l *Layout) arrives(d *disk) string {
	if l.moves(d) {
		return d.path +
			" is new and empty. The steps of `lvm` (`--to lvm` writes its scripts) make its file system, mount it beside the log, and move the log there. Do not mount it in place of the log."
	}
	return fmt.Sprintf("%s is new: the `lvm` target makes its file system and mounts it. %s", d.path,
		l.bring(d.volume))
}

// logIn is where the log is below the data folder.
func (l *Layout) logIn() string {
	data, log := l.deployment.Log.Dir("/data", nil, func(string) string { return "" })
	return strings.TrimPrefix(log, data+"/")
}

// logFile is the script that moves the log of a disk.
func logFile(d *disk) string { return "lvm/" + d.name + "-log.sh" }

// logMove writes the script that moves a log to its new volume and back, and says when to run it: the order
// is that of `plimsoll rollout`, which does the same by itself.
func (l *Layout) logMove(p *Part, d *disk) {
	in, to := l.logIn(), l.deployment.Log.Mount
	text := "#!/bin/bash\n" + l.Head("#", "Moves the log to the volume "+d.name+", and back.", d.why()) +
		fmt.Sprintf("set -euo pipefail\n\nreadonly log_in=%s pattern='%s'\nmount_at=${MOUNT:-%s}\n", in,
			l.deployment.Log.Files, to) + machineScript()
	p.Files = append(p.Files, File{Path: logFile(d), Text: []byte(text), Mode: executable})
	how := l.deployment.Move
	vars := fmt.Sprintf("    UNIT=%s DATA=%s   # as they are on this machine\n", how.Unit, how.Data)
	p.Apply = append(p.Apply,
		fmt.Sprintf(
			"Now the log moves. `plimsoll rollout PLAN.json --site SITE.yaml` does this and the rest by itself, and records before and after (docs/rollout.md). By hand, on each machine, %s:\n\n"+
				vars+
				"    %[2]s look \"$DATA\"\n"+
				"    systemctl stop \"$UNIT\" && %[2]s move \"$DATA\" && %[2]s check \"$DATA\" && systemctl start \"$UNIT\"\n\n"+
				"If that ends before the start, the message says why: mend it and run the last line again, or go back as below. The script copies `DATA/%[3]s` to `%[4]s`, reads both, keeps the old folder as `DATA/%[3]s.plimsoll-old`, and leaves a link. If the volume is not mounted, the link leads nowhere, and the database does not start; it never starts on an empty log.",
			how.Next, logFile(d), in, path.Join(to, path.Base(in))))

	p.Verify = append(p.Verify,
		fmt.Sprintf("%s: `%s check \"$DATA\"` says that the log is on its volume. When all is proved: `rm -r \"$DATA/%s.plimsoll-old\"`.",
			d.path, logFile(d), in))
	p.Back = append(p.Back,
		fmt.Sprintf(
			"%[1]s: what the engine has acknowledged since the move is only on the new volume, so that comes back first. On each machine, %[2]s:\n\n"+
				vars+
				"    systemctl stop \"$UNIT\" && %[3]s back \"$DATA\" && systemctl start \"$UNIT\" && umount %[4]s &&\n"+
				"      sed -i.plimsoll-old '\\# %[4]s #d' /etc/fstab   # its line: the next boot would wait for the volume\n\n"+
				"**Never start on `%[5]s.plimsoll-old`: it lacks what was acknowledged since the move.**",
			d.path, how.Next,
			logFile(d), to, in))

	p.Restarts = append(p.Restarts,
		d.path+": the engine of each machine, one after the other, while its log is copied and compared.")
}

// machineScript is the script for a machine, with the steps and the functions of the init containers. What is
// compared there must also be unused: on a machine, something may have started the database meanwhile.
func machineScript() string {
	steps := func(script string) string {
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

// indentedBy indents lines by a tab, and what was indented by two spaces by another one each.
func indentedBy(script string) string {
	var b strings.Builder
	for line := range strings.Lines(script) {
		rest := strings.TrimLeft(line, " ")
		b.WriteString(strings.Repeat("\t", 1+(len(line)-len(rest))/2) + rest)
	}
	return b.String()
}
