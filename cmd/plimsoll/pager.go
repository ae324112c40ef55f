package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
)

// paged shows a long text on a terminal through the user's pager, as git does: $PAGER, or less. The
// pager leaves a text that fits the screen there (-F), passes colours on (-R) and does not clear the
// screen (-X). Without a pager the text is written as it is.
func (a *app) paged(write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}

	pager := a.getenv("PAGER")
	if pager == "" {
		pager = "less"
	}

	// POSIX: PAGER is a command line for the shell
	// (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/man.html).
	cmd := exec.Command("sh", "-c", pager)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text.Bytes()), os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if a.getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}

	if strings.TrimSpace(pager) == "cat" || cmd.Start() != nil {
		_, err := a.stdout.Write(text.Bytes())
		return err
	}

	// 126 and 127 are the shell's codes for a command that cannot be run.
	err := cmd.Wait()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && (failed.ExitCode() == 126 ||
		failed.ExitCode() == 127) {
		_, err = a.stdout.Write(text.Bytes())
		return err
	}
	return nil // how the user left the pager is not a result of the command
}
