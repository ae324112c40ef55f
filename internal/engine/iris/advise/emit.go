package advise

import (
	"fmt"
	"strings"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/iris/model"
	"plimsoll/internal/model/scenario"
)

// merge writes a configuration merge file: lines of the CPF that iris merge puts over the existing
// ones (InterSystems IRIS documentation, "Automating Configuration of InterSystems IRIS with
// Configuration Merge" and "Configuration Parameter File Reference", 2025). It only writes
// parameters that are documented there: globals and wijdir in [config], CurrentDirectory in
// [Journal], SynchCommit in [Miscellaneous]. The reference has no parameters for the write daemon's
// cycle, its number of writes or its pauses.
func merge(transition *emit.Transition) (*emit.Part, error) {
	part := &emit.Part{}
	sections := map[string][]string{}
	var back []string
	put := func(section, path, comment, name, value, was string) {
		sections[section] = append(sections[section], "; "+comment+"\n"+name+"="+value)
		part.Applies = append(part.Applies, path)
		if was == "" {
			back = append(back, fmt.Sprintf("`%s` in `%s` as in the copy of `iris.cpf`", name, section))
		} else {
			back = append(back, fmt.Sprintf("`%s=%s` in `%s`", name, was, section))
		}
	}

	b, config := scenario.ConfigOf[*model.Config](transition.Before),
		scenario.ConfigOf[*model.Config](transition.After)
	if config.Buffers != b.Buffers {
		// Megabytes by block size, 2 to 64 kB in order; databases have blocks of 8 kB.
		globals := func(s units.Size) string {
			return fmt.Sprintf("0,0,%d,0,0,0",
				int64((s+units.MiB-1)/units.MiB))
		}
		put("[config]", "engine.iris.buffers", transition.Because("engine.iris.buffers")+
			". Megabytes of buffers by block size; the third is for 8 kB", "globals", globals(config.Buffers),
			globals(b.Buffers))
	}

	if config.Synchronous != b.Synchronous {
		digit := map[bool]string{false: "0", true: "1"}
		put("[Miscellaneous]", "engine.iris.synchronous_commit",
			transition.Because("engine.iris.synchronous_commit"),
			"SynchCommit", digit[config.Synchronous], digit[b.Synchronous])
	}

	moves := ""
	for _, v := range transition.NewVolumes() { // a replaced volume keeps its path
		switch v.Volume {
		case "wij":
			dir := wijMount + "/"
			put("[config]", v.Path, v.Why+". IRIS creates IRIS.WIJ in it when it starts", "wijdir", dir, "")
			moves += " IRIS creates a new write image journal in `" + dir +
				"`: the instance must have been shut down cleanly (`iris stop`), because after an unclean stop the old one is needed for recovery."
		case "journal":
			put("[Journal]", v.Path, v.Why+". AlternateDirectory does not change: keep it on another volume",
				"CurrentDirectory", journalMount+"/", "")
			moves += " Existing journal files stay where they are: keep them as long as a backup needs them."
		}
	}

	if len(part.Applies) == 0 {
		return nil, nil
	}

	text := transition.Head(";", "A configuration merge file for InterSystems IRIS, with only what changes.")
	for _, section := range []string{"[config]", "[Journal]", "[Miscellaneous]"} {
		if lines := sections[section]; len(lines) > 0 {
			text += "\n" + section + "\n" + strings.Join(lines, "\n") + "\n"
		}
	}

	part.Files = []emit.File{emit.Text("iris/merge.cpf", text)}
	part.Apply = []string{"Keep a copy of `iris.cpf`. With the new volumes mounted, and their folders owned like the instance's `mgr`: `iris merge INSTANCE /absolute/path/iris/merge.cpf`, which accepts no relative path and reports " +
		"\"completed successfully\" even for a missing file; then `iris stop INSTANCE` and `iris start INSTANCE`. In a container `ISC_CPF_MERGE_FILE` names the file when it starts." +
		moves}
	part.Restarts = []string{"the instance: it reads buffers and directories at startup. Do a mirror's members one after another, the primary last."}
	part.Verify = []string{"`grep -E '^(globals|wijdir|CurrentDirectory|SynchCommit)=' iris.cpf` shows the new values, and `messages.log` the buffers and journal of the last start; `iostat -x 1` shows which device each is written to."}
	part.Back = []string{"`iris merge` with the old values, and a restart: " + strings.Join(back, ", ") +
		", if the scenario had them; or restore the copy of `iris.cpf` while the instance is stopped."}

	if transition.Changed("engine.iris.synchronous_commit") && !config.Synchronous {
		part.Risks = append(part.Risks, "`SynchCommit=0`: a crash loses the last committed transactions.")
	}

	return part, nil
}
