package emit

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/model/database"
)

// A MoveRequest is a log to move on a machine, without a plan: the fix that a diagnosis prints.
type MoveRequest struct {
	// Engine is the engine's key in scenarios, Data its data folder, and Unit its systemd unit.
	Engine, Data, Unit string
	// Mount is where the log's volume is mounted; "" for a folder named after the unit, so that two
	// databases of a machine never share one.
	Mount string
	// Filesystem is xfs or ext4.
	Filesystem string
}

// The names of the scripts for a log's move.
const (
	MoveVolumeFile = "volume.sh"
	MoveLogFile    = "log.sh"
)

// Movers returns the keys of the engines whose log can be moved without a plan.
func Movers(of Engines) []string {
	var out []string
	for _, e := range of.Deployments {
		if e.Part.Log != nil && e.Part.Move != nil {
			out = append(out, e.Key)
		}
	}
	return out
}

var (
	// plainPath matches what needs no quotes in a shell's assignment, in fstab and in a systemd
	// unit.
	plainPath = regexp.MustCompile(`^(/[A-Za-z0-9._@:+-]+)+$`)
	unitName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@:-]*$`)
)

// MoveFiles returns the scripts that move a log to a separate volume, and a README. They are the same
// scripts as for the target lvm, for one database instead of a layout. The error is an *[InputError].
func MoveFiles(of Engines, moveRequest MoveRequest) ([]File, error) {
	e, err := database.Find(of.Deployments, moveRequest.Engine, "have its log moved")
	if err != nil {
		return nil, err
	}

	deployment := e.Part
	if deployment.Log == nil || deployment.Move == nil {
		return nil, Inputf("use one of "+strings.Join(Movers(of), ", "), "the log of %s cannot be moved by a script",
			moveRequest.Engine)
	}

	unit := strings.TrimSuffix(moveRequest.Unit, ".service")
	switch {
	case !unitName.MatchString(unit):
		return nil, Inputf("for example --unit "+deployment.Move.Unit, "--unit %q: want the name of a systemd unit", moveRequest.Unit)
	case !plainPath.MatchString(moveRequest.Data):
		return nil, Inputf("for example --data "+deployment.Move.Data,
			"--data %q: want an absolute path without spaces and special characters", moveRequest.Data)
	case moveRequest.Filesystem != "xfs" && moveRequest.Filesystem != "ext4":
		return nil, Inputf("", "--filesystem %q: want xfs or ext4", moveRequest.Filesystem)
	}

	// Both names come from the unit, and a machine has only one unit.
	name := strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune("._@:-", r) {
			return '-'
		}
		return r
	}, unit), "-")
	mount := moveRequest.Mount
	if mount == "" {
		mount = deployment.Log.Mount + "-" + name
	}

	if !plainPath.MatchString(mount) {
		return nil, Inputf("", "--mount %q: want an absolute path without spaces and special characters", mount)
	}

	data, log := deployment.Log.Dir(moveRequest.Data, nil, func(string) string { return "" })
	in := strings.TrimPrefix(log, data+"/")
	group := "plimsoll_" + strings.ReplaceAll(name, "-", "_")
	head := func(what string) string {
		return "#!/bin/bash\n# " + what + "\n# Written by plimsoll emit --move-log; README.md explains how to use it.\n"
	}

	// nofail: the machine boots without the volume. Then the log's link is dangling, and the database does
	// not start. x-systemd.before makes it wait for the mount, which nofail alone would not (systemd.mount(5)).
	volume := head("Creates the volume of the log of "+unit+", and mounts it.") + "set -euo pipefail\n\n" +
		fmt.Sprintf("readonly width=1\nreadonly unit_kib=4\nreadonly size_gib=1 # of the device, at least\n"+
			"readonly filesystem=%s\nreadonly options=defaults,noatime,nofail,x-systemd.before=%s.service\n"+
			"readonly group=%s\nreadonly volume=log\nmount_at=${MOUNT:-%s}\nreadonly log_link=%s\n\n",
			moveRequest.Filesystem, unit, group, mount, log) + withFunctions(lvmScript)

	move := head("Moves the log of "+unit+" to its volume, and back.") +
		moveHead(deployment.Log, in, mount, moveRequest.Data, unit) + machineScript()

	return []File{
		Text("README.md", moveReadme(moveRequest, deployment, unit, mount, in)),
		{Path: MoveVolumeFile, Text: []byte(volume), Mode: executable},
		{Path: MoveLogFile, Text: []byte(move), Mode: executable},
	}, nil
}

// moveReadme describes the order, the costs, and how to go back.
func moveReadme(m MoveRequest, deployment Deployment, unit, mount, in string) string {
	log := path.Join(m.Data, in)
	return fmt.Sprintf(`# Moving the log of %[1]s

%[2]s moves to a separate volume, mounted at %[3]s. Nothing is done until you run a script, as root,
on the machine of %[1]s. In a cluster, on %[6]s.

## Costs

- %[1]s stops while its log is copied, compared and linked. Other members should carry the load.
- One more volume to pay for. A snapshot of a single volume is no longer a backup of the database: include
  both at the same time.
- The volume cannot be smaller than the largest log: the script refuses if there is no room.
- If the volume is not attached, the machine boots, but %[1]s does not start.

## Look

    ./%[5]s look
    lsblk -o NAME,SIZE,SERIAL,MOUNTPOINTS      # which device is new?
    ./%[4]s --dry-run DEVICE

## Apply

    ./%[4]s DEVICE        # creates the file system, mounts it, with a line in /etc/fstab
    ./%[5]s apply            # stops %[1]s, moves the log, starts it again

Each can be run again after an interruption at any point. %[1]s is never started on an empty or incomplete
log: then it stays stopped, and the message says what to do.

## Check

    ./%[5]s check

Once the improvement is proved, `+"`./%[5]s finish`"+` removes %[2]s.plimsoll-old, which is out of date
from the first start on. **Never start on it: it lacks everything acknowledged since the move.**

## Undo

    ./%[5]s undo             # stops %[1]s, moves the log back with everything written since, starts it
    ./%[4]s --undo        # unmounts the volume, removes its line from /etc/fstab

The volume and what is on it are kept. `+"`plimsoll rollout`"+` does the same steps for all members of a
cluster, and records before and after.
`, shellword.Readable(unit), log, mount, MoveVolumeFile, MoveLogFile, deployment.Move.Next)
}
