//go:build linux

package process

import (
	"bufio"
	"bytes"
	"errors"
	"os"
)

// Bounds on the output kept.
const (
	lineBytesMax = 8 << 10 // longer lines are cut
	tailLinesMax = 8       // lines included in errors
)

// listen reads the output until no process has it open any more.
func (p *Process) listen(r, log *os.File, each func(line string)) {
	defer r.Close()
	lines := bufio.NewReaderSize(r, lineBytesMax)

	cut := false // the beginning of the current line has already been passed on
	for {
		text, err := lines.ReadSlice('\n')
		if log != nil && len(text) > 0 {
			_, _ = log.Write(text) // a full disk must not block the engine
		}

		long := errors.Is(err, bufio.ErrBufferFull)
		if line := bytes.TrimRight(text, "\r\n"); !cut && len(line) > 0 {
			p.addLine(string(line), each)
		}

		cut = long
		if err != nil && !long {
			_ = closeFile(log)
			return
		}
	}
}

func (p *Process) addLine(line string, each func(line string)) {
	p.mu.Lock()
	if len(p.tail) == tailLinesMax {
		p.tail = append(p.tail[:0], p.tail[1:]...)
	}
	p.tail = append(p.tail, line)
	p.mu.Unlock()
	if each != nil {
		each(line)
	}
}
