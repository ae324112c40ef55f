package rules

import "strings"

// SavedOnce saves a command's output, the first time only: a second look after the change must not
// replace the previous state. The file appears only once it is complete, so that a command that fails or
// a full disk leaves no part of the state. It then shows what was saved.
func SavedOnce(file, command string) []Command {
	return OnShell(`F=` + file + `; test -s "$F" || { ` + command +
		` > "$F.new" && test -s "$F.new" && mv "$F.new" "$F"; }; cat "$F"`)
}

// IfSaved is a command that runs only if the present state was saved, which it shows: without it there is no
// undo.
func IfSaved(file, command string) []Command { return OnShell(`cat ` + file + ` && ` + command) }

// ContainerOf returns the labels that identify the container that a finding is about, otherwise
// those of the database's own container if only one was measured.
func (c *Case) ContainerOf(f *Finding) map[string]string {
	name, _, _ := strings.Cut(f.Subject, " on ")

	// Remember every container: if there is only one, it must be the database's.
	found := map[string]map[string]string{}
	for _, s := range []*Signal{ContainerCPUUsed, ContainerMemoryUsed, ContainerCPUQuota, ContainerMemoryLimit,
		ContainerWrites, ContainerWritesLimit, ContainerWrittenLimit} {
		for _, t := range c.Signal(s) {
			l := map[string]string{}
			for _, k := range containerLabels {
				if v := t.Labels.Get(k); v != "" {
					l[k] = v
				}
			}
			if ContainerName(t.Labels) == name {
				return l
			}
			found[ContainerName(t.Labels)] = l
		}
	}

	if len(found) == 1 {
		for _, l := range found {
			return l
		}
	}

	return nil
}
