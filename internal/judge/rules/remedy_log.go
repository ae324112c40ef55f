package rules

import "strings"

// MoveLog returns the recipe that moves an engine's log to a separate volume on a host. The steps are the
// scripts of `plimsoll emit --move-log`, which `emit` also writes for a layout: a change that stops a
// server and moves data is never a line to paste. engine is its key there; data and unit are templates
// that print the data folder and the systemd unit; identify shows which server they belong to, and
// trial is the test that runs the steps.
func MoveLog(engine, trial string, identify []Command, data, unit, restart string, notes ...string) Recipe {
	folder := `~/plimsoll-move-log-` + unit
	look := append(append([]Command{}, identify...),
		OnShell(`systemctl show -p Id -p MainPID -p ExecStart `+unit,
			`plimsoll emit --move-log `+engine+` --data `+data+` --unit `+unit+` --out `+folder,
			`sudo `+folder+`/log.sh look; lsblk -o NAME,SIZE,FSTYPE,SERIAL,MOUNTPOINTS`)...)

	return Recipe{Places: []Place{Host},
		Look:    look,
		Do:      OnShell(`sudo ` + folder + `/volume.sh ` + newDevice + ` && sudo ` + folder + `/log.sh apply`),
		Check:   OnShell(`sudo ` + folder + `/log.sh check; systemctl is-active ` + unit),
		Keep:    OnShell(`sudo ` + folder + `/log.sh finish`),
		Undo:    OnShell(`sudo ` + folder + `/log.sh undo && sudo ` + folder + `/volume.sh --undo`),
		Restart: restart, Trial: trial,
		Cost: "if the volume is missing after a boot, the server does not start; every snapshot has to include both volumes",
		Notes: append([]string{
			"Attach a new, empty volume first. The scripts refuse a device with anything on it and a volume without room, continue after an interruption, and never start the server on an empty or incomplete log.",
			"If plimsoll is not installed on that host, run emit elsewhere and copy the folder; README.md in it has every step. plimsoll rollout does the same for all members and records before and after."}, notes...),
	}
}

// newDevice is the device of a volume that was just attached, which no source shows.
const newDevice = `{{ask "" "DEVICE" "the new, empty volume that lsblk shows, /dev/..."}}`

// Folder returns a path if it needs no quotes in scripts, fstab and a unit, and "" otherwise: then
// the reader sets it.
func Folder(path string) Value {
	plain := !strings.ContainsFunc(path, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
			!strings.ContainsRune("/._@:+-", r)
	})
	if !plain || !strings.HasPrefix(path, "/") || strings.Contains(path, "//") || len(path) < 2 {
		return ""
	}
	return Value(strings.TrimSuffix(path, "/"))
}
