//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"plimsoll/internal/lab/mount"
	"plimsoll/internal/present/results"
)

func newLabExecCommand(a *app) *cobra.Command {
	o := &labOptions{}
	cmd := &cobra.Command{
		Use: "exec VOLUME.yaml -- COMMAND [ARGUMENT...]",
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return usagef(
					"plimsoll lab exec VOLUME.yaml -- COMMAND {}", "lab exec: want a volume's file, then -- and a command")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.exec(cmd.Context(), a, args[0], args[1:]) },
	}
	o.AddFlags(cmd)
	return cmd
}

func (o *labOptions) exec(ctx context.Context, a *app, file string, command []string) error {
	// Look the program up before any volume is created.
	path, err := exec.LookPath(command[0])
	if err != nil {
		return usagef("", "lab exec: %w", err)
	}

	f, err := o.read(a, file)
	if err != nil {
		return err
	}

	if err := ready(a); err != nil {
		return err
	}

	m, s, err := o.start(ctx, a, file, f, "", false)
	if err != nil {
		return err
	}

	err = runOn(m, path, command, foreground())

	// The volumes must be removed even after an interrupt.
	end := context.WithoutCancel(ctx)
	if now, e := m.Status(end); e == nil {
		s = now
	}

	for _, v := range s.Volumes {
		if v.Saturated {
			fmt.Fprintf(
				a.stderr, "plimsoll: warning: volume %s was slower than specified: the emulator was saturated (%s)\n",
				v.Name, results.Lateness(&v))
		}
	}

	return errors.Join(err, m.Close(end, true))
}

// foreground reports whether this process is in the foreground of a terminal, which sends Ctrl-C to
// its children as well.
func foreground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// runOn runs a program on mounted volumes. If it fails, its exit code becomes this program's.
func runOn(m *mount.Machine, path string, command []string, foreground bool) error {
	// {} is the data volume, or the only one.
	replace := []string{"{}", m.Dirs["data"]}
	env := os.Environ()
	for name, dir := range m.Dirs {
		if len(m.Dirs) == 1 {
			replace[1] = dir
		}
		replace = append(replace, "{"+name+"}", dir)
		env = append(env, "PLIMSOLL_VOLUME_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+dir)
	}

	// The program's own name is not subject to replacement: it was looked up already.
	args := make([]string, len(command)-1)
	for i, arg := range command[1:] {
		args[i] = strings.NewReplacer(replace...).Replace(arg)
	}

	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, env

	// It dies with this process, however that ends: otherwise it would keep the volumes mounted.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}

	// The kernel sends the signal when the thread that started it dies, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)

	if err := cmd.Start(); err != nil {
		return fmt.Errorf("lab exec: %w", err)
	}

	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()

	for {
		select {
		case s := <-signals:
			if s == syscall.SIGINT && foreground {
				continue // the terminal has already sent it, and many programs treat a second one differently
			}
			_ = cmd.Process.Signal(s)
		case err := <-done:
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				return err
			}
			code := exit.ExitCode()
			// Shells report a death by signal as 128 plus its number.
			if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
				code = 128 + int(w.Signal())
			}
			return failf(code, "", "%s: %w", command[0], exit)
		}
	}
}
