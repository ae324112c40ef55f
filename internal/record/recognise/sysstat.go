package recognise

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"plimsoll/internal/record/source"
)

// saMagic starts sar's binary files (sysstat: sa.h, SYSSTAT_MAGIC 0xd596, little endian). Their format
// depends on the version of sysstat, so only its own sadf reads them.
const saMagic = "\x96\xd5"

// saConvert is the command that converts such a file.
const saConvert = "sadf -j FILE -- -d -u -q > sar.json"

// sadfFile returns a binary file of sar as JSON, converted by this machine's sadf. Its error
// follows the file's name.
func sadfFile(from source.File) (source.File, error) {
	sadf, err := exec.LookPath("sadf")
	if err != nil {
		return from, errors.New("is sar's binary file, which depends on the version of sysstat, and this machine has no sadf: convert it on its host with: " +
			saConvert)
	}

	path := from.Path
	from.Bytes = 0 // of the JSON: unknown
	from.Open = func() (io.ReadCloser, error) {
		// The path is absolute or relative, but never an option of sadf.
		arg := path
		if strings.HasPrefix(arg, "-") {
			arg = "./" + arg
		}

		c := &converter{cmd: exec.Command(sadf, "-j", arg, "--", "-d", "-u", "-q"), path: path}
		c.cmd.Env = append(c.cmd.Environ(), "LC_ALL=C", "TZ=UTC")
		c.cmd.Stderr = &c.said
		out, err := c.cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := c.cmd.Start(); err != nil {
			return nil, fmt.Errorf("cannot run %s: %w", sadf, err)
		}
		c.out = out
		return c, nil
	}

	// A file of another version is refused before anything is printed.
	head, err := from.Open()
	if err != nil {
		return from, err
	}
	first := make([]byte, 1)
	_, err = io.ReadFull(head, first)
	if closed := head.Close(); err != nil && closed != nil {
		err = closed
	}
	if err != nil {
		return from, fmt.Errorf("is sar's binary file, and this machine's sadf cannot read it (%w): convert it on its host with: %s",
			err, saConvert)
	}

	return from, nil
}

// saidMax limits how much of sadf's messages is kept.
const saidMax = 4 << 10

// A converter is a running sadf.
type converter struct {
	cmd  *exec.Cmd
	out  io.ReadCloser
	said limited
	path string
	over bool
}

// Read implements io.Reader. A sadf that fails ends with an error instead of the end of the file.
func (c *converter) Read(p []byte) (int, error) {
	n, err := c.out.Read(p)
	if errors.Is(err, io.EOF) && !c.over {
		c.over = true
		if failed := c.cmd.Wait(); failed != nil {
			return n, c.failure(failed)
		}
	}
	return n, err
}

func (c *converter) failure(err error) error {
	if said := strings.Join(strings.Fields(c.said.String()), " "); said != "" {
		return fmt.Errorf("sadf: %s", said)
	}
	return fmt.Errorf("sadf: %w", err)
}

// Close implements io.Closer. It ends a sadf that is still running.
func (c *converter) Close() error {
	if c.over {
		return nil
	}
	c.over = true
	_ = c.out.Close()
	_ = c.cmd.Process.Kill() // it may have ended by itself
	if err := c.cmd.Wait(); err != nil && c.said.Len() > 0 {
		return c.failure(err)
	}
	return nil
}

// A limited keeps the beginning of everything written to it.
type limited struct{ bytes.Buffer }

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if room := saidMax - l.Len(); room > 0 {
		_, _ = l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
