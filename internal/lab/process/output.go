//go:build linux

package process

import (
	"bufio"
	"bytes"
	"errors"
	"os"
)

// Bounds of what is taken of a program's output at a time.
const (
	lineBytesMax = 8 << 10 // of a line; what is longer is cut
	tailLinesMax = 8       // lines kept for an error
)

// listen takes what is printed until nobody is left to print.
func (p *Process) listen(r, log *os.File, each func(line string)) {
	defer r.Close()
	lines := bufio.NewReaderSize(r, lineBytesMax)
	cut := false // within a line of which the beginning was taken
	for {
		text, err := lines.ReadSlice('\n')
		if log != nil && len(text) > 0 {
			_, _ = log.Write(text) // a full disk must not hold up the engine
		}
		long := errors.Is(err, bufio.ErrBufferFull)
		if line := bytes.TrimRight(text, "\r\n"); !cut && len(line) > 0 {
			p.take(string(line), each)
		}
		cut = long
		if err != nil && !long {
			_ = closeFile(log)
			return
		}
	}
}

func (p *Process) take(line string, each func(line string)) {
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
