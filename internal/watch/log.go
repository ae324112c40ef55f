package watch

import (
	"context"
	"log/slog"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
)

// levels maps severities to log levels: a critical finding may page someone.
var levels = map[diagnose.Severity]slog.Level{
	diagnose.Critical: slog.LevelError, diagnose.Warning: slog.LevelWarn, diagnose.Info: slog.LevelInfo,
}

// logChange logs a change of a finding as one line: what, since when, the numbers, and what to do
// first.
func (w *Watch) logChange(ctx context.Context, c Change) {
	f := c.Finding
	attrs := []slog.Attr{
		slog.String("event", string(c.Event)), slog.String("rule", f.Rule), slog.String("subject", f.Subject),
		slog.String("severity", string(f.Severity)), slog.String("kind", string(f.Kind)),
		slog.Time("since", c.Since.In(w.zone())),
	}

	attrs = append(attrs, ofServer(c.Server)...)
	level := levels[f.Severity]

	// A refutation says what is not the cause, so no one needs to act on it.
	if f.Kind == diagnose.Refutation {
		level = slog.LevelInfo
	}

	switch c.Event {
	case Ended, Cleared:
		level = slog.LevelInfo
		attrs = append(attrs, slog.String("lasted", c.At.Sub(c.Since).Round(time.Second).String()))
	case Worse, Better:
		attrs = append(attrs, slog.String("was", string(c.Before)))
	}

	if c.Event != Ended && c.Event != Cleared {
		attrs = append(attrs, slog.Float64("share", f.Weight), slog.String("summary", f.Summary))
		if len(f.Fixes) > 0 {
			attrs = append(attrs, slog.String("fix", f.Fixes[0].Summary))
		}
	}

	w.opt.Changes.LogAttrs(ctx, level, f.Title, attrs...)
}

// logStall logs the beginning or end of a stall as one line, with the cause if it is already known.
func (w *Watch) logStall(ctx context.Context, event stallEvent, states []State) {
	attrs := []slog.Attr{slog.String("event", "stall"), slog.String("subject", event.state.Subject)}
	attrs = append(attrs, ofServer(event.state.Server)...)
	switch {
	case event.more:
		attrs = append(attrs, slog.Int("stalls", event.unreported), slog.Int64("stalls_in_all", event.state.Count),
			slog.String("stalled_in_all", units.Seconds(event.state.Stalled)))
		w.opt.Changes.LogAttrs(ctx, slog.LevelWarn, "clients stalled repeatedly", attrs...)
	case event.ended:
		attrs = append(attrs, slog.Time("since", event.state.Since.In(w.zone())),
			slog.String("lasted", units.Seconds(event.lasted.Seconds())))
		if event.worst > 0 {
			attrs = append(attrs, slog.String("worst", units.Seconds(event.worst)))
		}
		w.opt.Changes.LogAttrs(ctx, slog.LevelInfo, "the stall is over", attrs...)
	default:
		attrs = append(attrs, slog.Time("since", event.state.Since.In(w.zone())))
		if event.state.Highest >= 0 {
			attrs = append(attrs, slog.String("latency", units.Seconds(event.state.Highest)))
		}

		if event.state.Usual >= 0 {
			attrs = append(attrs, slog.String("usual", units.Seconds(event.state.Usual)))
		}

		if event.state.Rate >= 0 {
			attrs = append(attrs, slog.String("completing", units.Number(event.state.Rate)+"/s"))
		}

		// The first cause is the most likely one, because states are in the order of a report.
		for _, s := range states {
			if s.Finding.Kind == diagnose.Cause && s.Finding.Severity != diagnose.Info {
				attrs = append(attrs, slog.String("known_cause", s.Finding.Title+" ("+s.Finding.Subject+")"))
				if len(s.Finding.Fixes) > 0 {
					attrs = append(attrs, slog.String("fix", s.Finding.Fixes[0].Summary))
				}
				break
			}
		}

		w.opt.Changes.LogAttrs(ctx, slog.LevelWarn, "clients are stalled", attrs...)
	}
}

// ofServer names the server if there are several.
func ofServer(name string) []slog.Attr {
	if name == "" {
		return nil
	}
	return []slog.Attr{slog.String("server", name)}
}

func (w *Watch) zone() *time.Location {
	if w.opt.Location == nil {
		return time.UTC
	}
	return w.opt.Location
}
