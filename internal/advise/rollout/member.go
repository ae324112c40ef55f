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

// lookEvery is how often a member is looked at that starts or stops.
const lookEvery = 200 * time.Millisecond

// A member is one server of the site, with its log's move.
type member struct {
	*Member

	r     *Rollout
	mount string
	move  move
	// commands of the shell
	starts, stops string
}

func (r *Rollout) newMember(of *Member) (*member, error) {
	m := &member{Member: of, r: r}
	volume := of.Volumes.Get(r.Log)
	if volume == nil {
		return nil, steps.Inputf(fmt.Sprintf("volumes: {%s: /mnt/%s}", r.Log, r.Log),
			"%s: the site does not say where the new volume %s of %s is mounted", r.state.SiteFile, r.Log, of.Name)
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
			"%s: the site does not say how %s is stopped and started", r.state.SiteFile, of.Name)
	}
	if of.Config != "" && r.proc.Configure == nil {
		return nil,
			steps.Inputf("leave config: out", "%s: %s has no setting for its log's folder; the link is enough",
				r.state.SiteFile, r.Engine)
	}

	return m, nil
}

// name is a step's.
func (m *member) name(what string) string { return m.Name + ": " + what }

// run runs a shell command. Its output goes to a file, because the server that it starts may keep it
// open.
func (m *member) run(ctx context.Context, what, command string) error {
	if m.r.opt.command != nil {
		return m.r.opt.command(ctx, command)
	}

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

	// Its descriptor 3 is the lock, for as long as the command itself runs: what it starts does not have it.
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `/bin/sh -c "$1" 3>&-; exit $?`, "sh", command)
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{lock}

	// In a session of its own, Ctrl-C reaches the rollout alone, and its end reaches all of the command.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Stdout, cmd.Stderr = out, out

	switch err := cmd.Run(); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return steps.Inputf("a larger patience in the site file, given again with --site, allows more",
			"%s: it was ended because it took longer than the patience of %s, %s: %s", command, m.Name,
			m.patience(), tail(path))
	default:
		return fmt.Errorf("%s: %w: %s", command, err, tail(path))
	}
}

// earlier waits until no command of an earlier run, which was killed meanwhile, still starts or stops the
// member. It returns the lock that a command holds while it runs.
func (m *member) earlier(ctx context.Context) (*os.File, error) {
	lock, err := os.OpenFile(m.r.folder.Path(m.Name+"-command.lock"),
		os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}

	err = m.await(ctx, func() error {
		if err := flock(lock); err != nil {
			return steps.Inputf("wait until it ends, or end it",
				"a command that an earlier run began still starts or stops %s", m.Name)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}

	return lock, nil
}

// settled waits for a command of an earlier run.
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

// tail is the end of a command's output, in one line.
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

// users are the processes that use the member's data or log; "" if there are none.
func (m *member) users() (string, error) {
	dirs := []string{m.Data}
	for _, dir := range []string{m.move.to, m.move.to + partSuffix} { // WalkDir does not follow the link
		if _, err := os.Lstat(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	found, err := m.r.find(dirs...)
	if err != nil {
		return "", err
	}
	if len(found) == 0 && m.r.proc.Running != nil {
		return m.r.proc.Running(m.Member)
	}
	return strings.Join(found, ", "), nil
}

// isFree fails if a process uses the member's data or log.
func (m *member) isFree() error {
	who, err := m.users()
	if err == nil && who != "" {
		err = fmt.Errorf("%s is used by %s", m.Data, who)
	}
	return err
}

// find looks for the processes that have a file of some folders open.
func (r *Rollout) find(dirs ...string) ([]string, error) {
	if r.opt.holders != nil {
		return r.opt.holders(dirs...)
	}
	return holders(dirs...)
}

// held fails if a process has a file of some folders open.
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

// goBack stops the member for its log's way back, if the log has room there and the cluster can do without
// the member.
func (m *member) goBack(ctx context.Context) error {
	if err := m.settled(ctx); err != nil {
		return err
	}
	if m.isFree() == nil {
		return nil
	}

	if moved, err := m.move.moved(); err != nil || moved {
		if err := errors.Join(err, m.move.roomBack()); err != nil {
			return err
		}
	}

	if m.r.proc.Ready != nil && m.healthy(ctx) == nil {
		if err := m.r.proc.Ready(ctx, m.Member); err != nil {
			return fmt.Errorf("%s is not stopped: %w", m.Name, err)
		}
	}

	return m.ensureStopped(ctx)
}

// ensureStopped stops the member unless it is stopped, and returns when nobody uses its files.
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
		who, err := m.users()
		if err == nil && who != "" {
			err = fmt.Errorf("still used by %s", who)
		}
		return err
	})
}

// isStopped fails if the member runs, or if something answers at its address.
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

	return m.await(ctx, func() error {
		if m.r.proc.Answers(ctx, m.Member) == nil {
			return fmt.Errorf("a server still answers at the address of %s: it is not the one of %s", m.Name, m.Data)
		}
		return nil
	})
}

// ensureRunning starts the member unless it runs, and returns when it is well. It refuses to start it
// on a log's folder without a log.
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
			return errors.Join(err, fmt.Errorf("%s leads to no file of the log: %s is not started",
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

// await asks until the answer is nil. The error is the last answer.
func (m *member) await(ctx context.Context, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, m.patience())
	defer cancel()
	look := time.NewTicker(lookEvery)
	defer look.Stop()

	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s: %w", m.patience(), err)
		case <-look.C:
		}
	}
}
