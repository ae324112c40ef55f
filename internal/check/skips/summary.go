package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// event is a line of `go test -json`, as `go doc test2json` describes it.
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string
}

// summary counts what ran.
type summary struct {
	packages int
	failed   bool
	skipped  int
	why      map[string]int // number of skipped tests by reason
}

// test names one test of one package.
type test struct{ pkg, name string }

// read copies to w what `go test` without -json prints: a line for each package, and the output of failed
// tests. A line that is not an event, such as a message of the go command, is copied unchanged.
func read(r io.Reader, w io.Writer) (*summary, error) {
	s := &summary{why: map[string]int{}}
	printed := map[test]*bytes.Buffer{}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil:
			if _, err := w.Write(line); err != nil {
				return nil, err
			}
		default:
			if err := s.take(e, printed, w); err != nil {
				return nil, err
			}
		}

		// ReadBytes returns the last line together with EOF, so the error is examined last.
		if err == io.EOF {
			return s, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// take counts one event. Output is kept until its test ends, because only then is it known whether it failed.
func (s *summary) take(e event, printed map[test]*bytes.Buffer, w io.Writer) error {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		_, err := io.WriteString(w, e.Output)
		return err
	case "build-fail":
		s.failed = true
	case "output":
		if e.Test == "" && !framing(e.Output) {
			_, err := io.WriteString(w, e.Output)
			return err
		}
		if printed[t] == nil {
			printed[t] = new(bytes.Buffer)
		}
		printed[t].WriteString(e.Output)
	case "pass", "fail", "skip":
		out := printed[t]
		delete(printed, t)
		if e.Test == "" {
			return s.endPackage(e, printed, w)
		}
		return s.end(e.Action, out, w)
	}

	return nil
}

// end counts a test that ended with this action; out is what it printed.
func (s *summary) end(action string, out *bytes.Buffer, w io.Writer) error {
	switch {
	case action == "skip":
		s.skipped++
		s.why[reason(out)]++
	case action == "fail" && out != nil:
		_, err := w.Write(out.Bytes())
		return err
	}
	return nil
}

// endPackage counts a package that ended. If it failed, it shows the output of unfinished tests: a
// panic or a timeout ends the process in the middle of them.
func (s *summary) endPackage(e event, printed map[test]*bytes.Buffer, w io.Writer) error {
	s.failed = s.failed || e.Action == "fail"
	if e.Package == "" {
		return nil // go test itself failed; the Makefile says so
	}

	s.packages++
	for t, out := range printed {
		if t.pkg != e.Package {
			continue
		}
		delete(printed, t)
		if e.Action != "fail" {
			continue
		}
		if _, err := w.Write(out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// framing reports whether a package printed this line only because -json implies -v.
func framing(line string) bool {
	return line == "PASS\n" || line == "testing: warning: no tests to run\n"
}

// message matches the line that t.Skip prints: its file and line, then why.
var message = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.*)$`)

// variable matches what differs between two skips for one reason: numbers and folders.
var variable = regexp.MustCompile(`\d+(\.\d+)*|(/[\w.+-]+){2,}`)

// reason returns why a test skipped, of all that it printed: its last message.
func reason(out *bytes.Buffer) string {
	if out == nil {
		return "(no reason)"
	}
	all := message.FindAllStringSubmatch(out.String(), -1)
	if len(all) == 0 {
		return "(no reason)"
	}
	return variable.ReplaceAllString(strings.TrimSpace(all[len(all)-1][1]), "…")
}

// print lists the reasons, the most frequent one first.
func (s *summary) print(w io.Writer) {
	fmt.Fprintf(w, "%d packages, %d tests skipped\n", s.packages, s.skipped)
	reasons := slices.SortedFunc(maps.Keys(s.why), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.why[b], s.why[a]), cmp.Compare(a, b))
	})
	for _, why := range reasons {
		fmt.Fprintf(w, "%5d  %s\n", s.why[why], why)
	}
}
