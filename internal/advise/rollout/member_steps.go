//go:build linux

package rollout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"plimsoll/internal/base/safefile"
)

// prepare checks everything that can be checked while the member runs. Its undo, the last of all,
// removes the leftovers on the new volume.
func (m *member) prepare() Step {
	return Step{
		Name: m.name("check"), Member: m.Name,
		What: "checks that the log can move to " + m.move.to,
		Needs: fmt.Sprintf("%s is a separate mounted file system with room for the log, no earlier move left anything, and %s is healthy%s",
			m.mount, m.Name, m.byUnit()),
		Undoes:  "removes the copy and the old folder, once the log is back and " + m.Name + " is healthy",
		Require: func(ctx context.Context) error { return errors.Join(m.fits(), m.managed(), m.ready(ctx)) },
		Undo: func(ctx context.Context) error {
			// Only remove leftovers once the engine runs on its old log again: until then the copy
			// may be needed.
			if err := m.ensureRunning(ctx); err != nil || !m.r.moving(m) {
				return err
			}
			return m.move.clear()
		},
	}
}

func (m *member) ready(ctx context.Context) error {
	if err := m.healthy(ctx); err != nil || m.r.proc.Ready == nil {
		return err
	}
	return m.r.proc.Ready(ctx, m.Member)
}

func (m *member) stop() Step {
	return Step{
		Name: m.name("stop"), Member: m.Name, Down: true,
		What:    "stops " + m.Name + ": " + m.stops,
		Needs:   m.Name + " is healthy, and its cluster can do without it",
		Checks:  "no process uses its files, and no server answers at its address",
		Undoes:  "starts it, and waits until it is healthy: " + m.starts,
		Require: func(ctx context.Context) error { return errors.Join(m.managed(), m.ready(ctx)) },
		Do:      m.ensureStopped, Check: m.isStopped, Undo: m.ensureRunning,
	}
}

func (m *member) copy() Step {
	return Step{
		Name: m.name("copy"), Member: m.Name, Down: true,
		What:    fmt.Sprintf("copies %s to %s, syncs it, and reads it back", m.move.log, m.move.to),
		Needs:   "the log is a folder that contains a log, and it fits on the new volume",
		Checks:  "every file has the same checksum, owner and mode",
		Undoes:  "keeps the copy until " + m.Name + " is healthy without it",
		Require: func(context.Context) error { return m.fits() },
		Do: func(ctx context.Context) error {
			// The engine may have been started again since the stop step, by a supervisor or a
			// reboot.
			if err := m.ensureStopped(ctx); err != nil {
				return err
			}
			return m.move.copyThere()
		},
		Check: m.isStopped,
	}
}

func (m *member) swap() Step {
	return Step{
		Name: m.name("swap"), Member: m.Name, Down: true,
		What: fmt.Sprintf("atomically replaces %s by a link to the copy; the old folder is kept as %s",
			m.move.log, m.move.kept()),
		Needs:  "the copy is still identical to the log, and contains a log",
		Checks: m.move.log + " leads to the new volume",
		Undoes: "puts the old folder back; if the engine has run on the new volume since, copies the log back and verifies it first",
		Do: func(ctx context.Context) error {
			if err := m.ensureStopped(ctx); err != nil {
				return err
			}
			// If this run resumes after a reboot, the engine may have run since the copy was made.
			if err := m.move.copyThere(); err != nil {
				return err
			}
			return m.move.swap()
		},
		Check: func(context.Context) error {
			moved, err := m.move.moved()
			if err == nil && !moved {
				err = fmt.Errorf("%s is not a link to %s", m.move.log, m.move.to)
			}
			return err
		},
		Undo: func(ctx context.Context) error {
			if err := m.goBack(ctx); err != nil {
				return err
			}
			return m.move.swapBack()
		},
		Finish: func(context.Context) error { return m.move.finish() },
	}
}

func (m *member) start() Step {
	return Step{
		Name: m.name("start"), Member: m.Name,
		What:   "starts " + m.Name + ": " + m.starts,
		Needs:  m.move.log + " leads to a log",
		Checks: m.Name + " serves requests, makes a write durable, and has caught up with its cluster",
		Undoes: "stops it: " + m.stops,
		Do:     m.ensureRunning, Check: m.healthy, Undo: m.goBack,
	}
}

// configure writes the log's new folder into the engine's configuration. The link stays: the engine
// finds the same log whether it follows the link or the setting.
func (m *member) configure() Step {
	old := m.r.folder.Path(m.Name + "-config.old")
	return Step{
		Name: m.name("configure"), Member: m.Name, Down: true,
		What:   fmt.Sprintf("sets the log's folder in %s", m.Config),
		Checks: "the file has the setting",
		Undoes: "restores the file, unless it was edited since",
		Do: func(context.Context) error {
			text, err := os.ReadFile(m.Config)
			if err != nil {
				return err
			}

			// Save the original once. A repeated run would otherwise save its own change as the
			// original.
			if _, err := os.Stat(old); errors.Is(err, fs.ErrNotExist) {
				if err := safefile.Write(old, text, safefile.Options{Mode: 0o600}); err != nil {
					return err
				}
			}

			changed, err := m.r.proc.Configure(m.Config, text, m.move.to)
			if err != nil || bytes.Equal(changed, text) {
				return err
			}

			m.r.at("configure")
			return safefile.Write(m.Config, changed, safefile.Options{})
		},
		Check: func(context.Context) error {
			text, err := os.ReadFile(m.Config)
			if err == nil && !strings.Contains(string(text), m.move.to) {
				err = fmt.Errorf("%s does not contain %s", m.Config, m.move.to)
			}
			return err
		},
		Undo: func(context.Context) error {
			was, err := os.ReadFile(old)
			if errors.Is(err, fs.ErrNotExist) {
				return nil // interrupted before it changed anything
			}

			if err != nil {
				return err
			}

			is, err := os.ReadFile(m.Config)
			if err != nil || bytes.Equal(is, was) {
				return err
			}

			// Only restore the file if it is exactly what this rollout wrote: never overwrite the
			// operators' own edits.
			changed, err := m.r.proc.Configure(m.Config, was, m.move.to)
			if err != nil {
				return err
			}

			if !bytes.Equal(is, changed) {
				return fmt.Errorf("%s was edited since: remove %s from it by hand (the original is %s)", m.Config,
					m.move.to, old)
			}

			return safefile.Write(m.Config, was, safefile.Options{})
		},
	}
}
