//go:build linux

package rollout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/base/shellword"
)

// lookEvery is the polling interval while a member starts or stops.
const lookEvery = 200 * time.Millisecond

// A member is one server of the site, with its log's move.
type member struct {
	*Member

	r     *Rollout
	mount string
	move  move
	// shell commands
	starts, stops string
}

func (r *Rollout) newMember(of *Member) (*member, error) {
	m := &member{Member: of, r: r}
	volume := of.Volumes.Get(r.Log)
	if volume == nil {
		return nil, steps.Inputf(fmt.Sprintf("volumes: {%s: /mnt/%s}", r.Log, r.Log),
			"%s: no mount point for the new volume %s of %s", r.state.SiteFile, r.Log, of.Name)
	}

	m.mount = *volume
	m.move = move{log: filepath.Join(of.Data, r.proc.Log), to: filepath.Join(m.mount, r.proc.Into),
		isLog: r.proc.IsLog, at: r.at, free: m.isFree, held: r.held}

	switch {
	case of.Unit != "":
		m.starts, m.stops = "systemctl start "+shellword.Quote(of.Unit), "systemctl stop "+shellword.Quote(of.Unit)
	case of.Start != "":
		m.starts, m.stops = of.Start, of.Stop
	case r.proc.Commands != nil:
		m.starts, m.stops = r.proc.Commands(of)
	}

	if m.starts == "" || m.stops == "" {
		return nil, steps.Inputf("unit: NAME, or start: and stop: with shell commands",
			"%s: no way to stop and start %s", r.state.SiteFile, of.Name)
	}
	if of.Config != "" && r.proc.Configure == nil {
		return nil,
			steps.Inputf(
				"leave config: out", "%s: %s has no setting for the folder of its log; the link is sufficient",
				r.state.SiteFile, r.Engine)
	}

	return m, nil
}

// name returns the name of one of the member's steps.
func (m *member) name(what string) string { return m.Name + ": " + what }

// run runs a shell command. Its output goes to a file and not to a pipe, because the server that it
// starts may keep it open.
func (m *member) run(ctx context.Context, what, command string) error {
	if m.r.opt.command != nil {
		return m.r.opt.command(ctx, command)
	}

	// The timeout covers waiting for an earlier command as well as running this one.
	ctx, cancel := context.WithTimeout(ctx, m.patience())
	defer cancel()
	lock, err := m.earlier(ctx)
	if err != nil {
		return err
	}

	defer lock.Close()
	path := m.r.folder.Path(m.Name + "-" + what + ".log")
	out, err := os.Create(path)
	if err != nil {
		return err
	}

	defer out.Close()

	// The outer shell holds the lock as descriptor 3 while the command runs. The inner shell closes it, so
	// that a server started by the command does not inherit the lock. If this process is killed, the lock
	// stays held until the command ends, and the next run waits for it.
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `/bin/sh -c "$1" 3>&-; exit $?`, "sh", command)
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{lock}

	// In a separate session, Ctrl-C only reaches the rollout, not the command, and a timeout can kill the
	// whole process group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Stdout, cmd.Stderr = out, out

	switch err := cmd.Run(); {
	case err == nil:
		return nil
	// The command's own error would only say "signal: killed".
	case ctx.Err() != nil:
		return steps.Inputf("increase patience in the site file and pass the file again with --site",
			"%s: killed because it took longer than the patience of %s, %s: %s", command, m.Name,
			m.patience(), tail(path))
	default:
		return fmt.Errorf("%s: %w: %s", command, err, tail(path))
	}
}

// earlier waits until no command of an earlier, killed run is still starting or stopping the member. It
// returns the lock that a command must hold while it runs.
func (m *member) earlier(ctx context.Context) (*os.File, error) {
	lock, err := os.OpenFile(m.r.folder.Path(m.Name+"-command.lock"),
		os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}

	err = m.await(ctx, func() error {
		// The descriptor of a killed run's command still holds the lock.
		if err := flock(lock); err != nil {
			return steps.Inputf("wait until it ends, or kill it",
				"a command from an earlier run is still starting or stopping %s", m.Name)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}

	return lock, nil
}

// settled waits for a command of an earlier run to end.
func (m *member) settled(ctx context.Context) error {
	if m.r.opt.command != nil {
		return nil
	}
	lock, err := m.earlier(ctx)
	if err != nil {
		return err
	}
	return lock.Close()
}

// tail returns the end of a command's output on one line.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const most = 500
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "?")), " ")
	if len(s) > most {
		s = "... " + s[len(s)-most:]
	}
	return s
}

// users returns the processes that use the member's data or log, or "" if there are none.
func (m *member) users() (string, error) {
	dirs := []string{m.Data}

	// listed separately, because WalkDir does not follow the log's link
	for _, dir := range []string{m.move.to, m.move.to + partSuffix} {
		if _, err := os.Lstat(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}

	found, err := m.r.find(dirs...)
	if err != nil {
		return "", err
	}

	// The engine's own marks catch servers that the search of /proc misses.
	if len(found) == 0 && m.r.proc.Running != nil {
		return m.r.proc.Running(m.Member)
	}

	return strings.Join(found, ", "), nil
}

// isFree fails if any process uses the member's data or log.
func (m *member) isFree() error {
	who, err := m.users()
	if err == nil && who != "" {
		err = fmt.Errorf("%s is used by %s", m.Data, who)
	}
	return err
}

// find returns the processes that have a file in one of the folders open.
func (r *Rollout) find(dirs ...string) ([]string, error) {
	if r.opt.holders != nil {
		return r.opt.holders(dirs...)
	}
	return holders(dirs...)
}

// held fails if any process has a file in one of the folders open.
func (r *Rollout) held(dirs ...string) error {
	for _, dir := range dirs {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if found, err := r.find(dir); err != nil || len(found) > 0 {
			return errors.Join(err, fmt.Errorf("%s is used by %s", dir, strings.Join(found, ", ")))
		}
	}
	return nil
}

// goBack stops the member so that its log can move back, if the log fits there and the cluster can do
// without the member.
func (m *member) goBack(ctx context.Context) error {
	if err := m.settled(ctx); err != nil {
		return err
	}
	if m.isFree() == nil {
		return nil
	}

	// Check the space before stopping: a member that cannot go back is better left running.
	if moved, err := m.move.moved(); err != nil || moved {
		if err := errors.Join(err, m.move.roomBack()); err != nil {
			return err
		}
	}

	// Only a healthy member can be needed by its cluster. An unhealthy one may be the reason for
	// the undo, so its cluster's state must not block it.
	if m.r.proc.Ready != nil && m.healthy(ctx) == nil {
		if err := m.r.proc.Ready(ctx, m.Member); err != nil {
			return fmt.Errorf("%s is not stopped: %w", m.Name, err)
		}
	}

	return m.ensureStopped(ctx)
}

// ensureStopped stops the member if it is running, and returns once no process uses its files.
func (m *member) ensureStopped(ctx context.Context) error {
	if err := m.settled(ctx); err != nil {
		return err
	}

	who, err := m.users()
	if err != nil || who == "" {
		return err
	}

	if err := m.run(ctx, "stop", m.stops); err != nil {
		return err
	}

	return m.await(ctx, func() error {
		// A member that is already down needs no stop command, which could fail for a stopped
		// server.
		who, err := m.users()
		if err == nil && who != "" {
			err = fmt.Errorf("still used by %s", who)
		}
		return err
	})
}

// isStopped fails if the member is running, or if a server answers at its address.
func (m *member) isStopped(ctx context.Context) error {
	who, err := m.users()
	if err != nil {
		return err
	}

	if who != "" {
		return fmt.Errorf("%s is still used by %s", m.Data, who)
	}
	if m.Address == "" || m.r.proc.Answers == nil {
		return nil
	}

	// A server that answers here may be another one on the same address, so that stopping this
	// member proves nothing.
	return m.await(ctx, func() error {
		if m.r.proc.Answers(ctx, m.Member) == nil {
			return fmt.Errorf("a server still answers at the address of %s: it is not the one that uses %s",
				m.Name, m.Data)
		}
		return nil
	})
}

// ensureRunning starts the member if it is not running, and returns once it is healthy. It refuses to
// start the engine on a log folder without a log, because the engine might create an empty one.
func (m *member) ensureRunning(ctx context.Context) error {
	if err := m.settled(ctx); err != nil {
		return err
	}

	who, err := m.users()
	if err != nil {
		return err
	}

	if who == "" {
		found, err := hasLog(m.move.log, m.r.proc.IsLog)
		if err != nil || !found {
			return errors.Join(err, fmt.Errorf("%s contains no file of the log: %s is not started",
				m.move.log, m.Name))
		}
		if err := m.run(ctx, "start", m.starts); err != nil {
			return err
		}
	}

	return m.await(ctx, func() error { return m.healthy(ctx) })
}

func (m *member) healthy(ctx context.Context) error {
	who, err := m.users()
	if err != nil {
		return err
	}
	if who == "" {
		return fmt.Errorf("no process uses %s", m.Data)
	}
	if m.r.proc.Healthy == nil {
		return nil
	}
	return m.r.proc.Healthy(ctx, m.Member)
}

// await polls until check succeeds or the member's patience runs out. The error is that of the last
// check.
func (m *member) await(ctx context.Context, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, m.patience())
	defer cancel()
	poll := time.NewTicker(lookEvery)
	defer poll.Stop()

	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s: %w", m.patience(), err)
		case <-poll.C:
		}
	}
}
