package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/record/recording"
)

const (
	// newestMark is the value of --at-mark without one.
	newestMark = "newest"
	// settleUnasked is how long after a mark the time after the change begins: the effect of a setting shows
	// only after a checkpoint, which takes a minute.
	settleUnasked = time.Minute
	// marksListed is how many marks an error lists.
	marksListed = 5
)

func addAtMark(cmd *cobra.Command, o *proveOptions) {
	f := cmd.Flags()
	f.StringVar(&o.atMark, "at-mark", "", "one SOURCE, split at its newest mark, or the newest with this text")
	f.Lookup("at-mark").NoOptDefVal = newestMark
	f.DurationVar(&o.settle, "settle", settleUnasked, "with --at-mark, how long after the mark to leave out")
}

// splitAtMark returns both sides of one source: up to the mark, and from the mark on, after the
// settling time. pflag passes a word after --at-mark without = as an argument.
func (o *proveOptions) splitAtMark(cmd *cobra.Command, env *app, args []string) ([]string, error) {
	if o.beforeTo != "" || o.afterFrom != "" {
		return nil, usagef("leave out one of them", "--at-mark sets what --before-to and --after-from do")
	}
	if o.settle < 0 {
		return nil, usagef("for example --settle 2m", "--settle %s is negative", o.settle)
	}

	text := o.atMark
	if len(args) == 2 {
		if text != newestMark {
			return nil, usagef("a mark splits one recording", "--at-mark takes one SOURCE, not %s and %s",
				args[0], args[1])
		}
		text = args[1]
	}

	if text == newestMark {
		text = ""
	}

	args = args[:1]
	if err := o.sourceOptions.Validate(cmd, args, env.now()); err != nil {
		return nil, err
	}

	// Opened here only for the marks. prove opens the source again for each side.
	inputs, err := o.open(cmd.Context(), env, args)
	if err != nil {
		return nil, err
	}

	defer closeAll(inputs)
	var all [][]recording.Mark
	for _, in := range inputs {
		if in.Reader != nil {
			all = append(all, in.Reader.Marks())
		}
	}

	m, err := o.findMark(recording.MergeMarks(all...), args[0], text)
	if err != nil {
		return nil, err
	}

	// The flags of the two sides then apply as if the user had given both times.
	o.beforeTo, o.afterFrom = m.At.Format(time.RFC3339Nano), m.At.Add(o.settle).Format(time.RFC3339Nano)
	return []string{args[0], args[0]}, nil
}

// findMark returns the newest mark in the requested time whose text contains the words.
func (o *proveOptions) findMark(all []recording.Mark, source, text string) (recording.Mark, error) {
	var have []string

	// Marks are in order of time, so the search begins with the newest.
	for i := len(all) - 1; i >= 0; i-- {
		m := all[i]
		if m.At.Before(o.fromAt) || !o.toAt.IsZero() && m.At.After(o.toAt) {
			continue
		}
		if strings.Contains(strings.ToLower(m.Text), strings.ToLower(text)) {
			return m, nil
		}
		have = append(have, fmt.Sprintf("%q at %s", m.Text, m.At.In(o.zone).Format(time.DateTime)))
	}

	if len(have) == 0 {
		return recording.Mark{}, failf(exitFailure, "plimsoll mark TEXT --at TIME --in "+source+" sets one",
			"%s has no mark in this time", source)
	}

	more := ""
	if len(have) > marksListed {
		more = fmt.Sprintf(" and %d more", len(have)-marksListed)
	}

	return recording.Mark{}, failf(exitFailure,
		"it has "+strings.Join(have[:min(len(have), marksListed)], ", ")+more, "%s",
		source+" has no mark with the text "+text)
}
