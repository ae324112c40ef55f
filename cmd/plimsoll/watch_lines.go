package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// A lineHandler writes the log of a watch for a person at a terminal: a line for each stall, its cause
// and its end, and the page's address. A line has the time of day, a word and a sentence. Symptoms and
// refutations are on the page; the stall's own line has the latency that clients saw.
type lineHandler struct {
	w     io.Writer
	zone  *time.Location
	hide  func(string) string // removes passwords
	known []slog.Attr
}

// Enabled implements [slog.Handler].
func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

// WithAttrs implements [slog.Handler].
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := *h
	out.known = append(append([]slog.Attr(nil), h.known...), attrs...)
	return &out
}

// WithGroup implements [slog.Handler]; a watch has no groups.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }

// Handle implements [slog.Handler].
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := map[string]string{}
	var order []string
	add := func(a slog.Attr) bool {
		value := a.Value.String()
		if a.Value.Kind() == slog.KindTime {
			value = a.Value.Time().In(h.zone).Format("15:04:05")
		}
		attrs[a.Key], order = h.hide(value), append(order, a.Key)
		return true
	}
	for _, a := range h.known {
		add(a)
	}
	r.Attrs(add)

	text := h.text(r.Message, attrs, order)
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintf(h.w, "%s  %s\n", r.Time.In(h.zone).Format("15:04:05"), document.Visible(text))
	return err
}

// text is a record in words; "" if a person does not need it.
func (h *lineHandler) text(message string, attrs map[string]string, order []string) string {
	switch {
	case attrs["event"] == "stall":
		return stallLine(message, attrs)
	case attrs["kind"] != "":
		return findingLine(message, attrs)
	// The server's own messages (exporter-toolkit).
	case message == "Listening on":
		return "page   http://" + attrs["address"] + "/"
	case strings.HasPrefix(message, "TLS is disabled"):
		return ""
	}

	var more []string
	for _, key := range order {
		more = append(more, strings.ReplaceAll(key, "_", " ")+" "+attrs[key])
	}
	if len(more) == 0 {
		return message
	}
	return message + " (" + strings.Join(more, ", ") + ")"
}

// stallLine is the beginning or the end of a stall.
func stallLine(message string, attrs map[string]string) string {
	who := attrs["subject"]
	if s := attrs["server"]; s != "" {
		who = s + ": " + who
	}

	switch {
	case attrs["lasted"] != "":
		text := "over   " + who + ", after " + attrs["lasted"]
		if worst := attrs["worst"]; worst != "" {
			text += ", worst " + worst
		}
		return text
	case attrs["stalls"] != "":
		return "STALL  " + who + ": " + attrs["stalls"] + " more stalls, " + attrs["stalled_in_all"] + " in total"
	}

	var felt []string
	if x := attrs["latency"]; x != "" {
		text := x
		if usual := attrs["usual"]; usual != "" {
			text += " instead of " + usual
		}
		felt = append(felt, text)
	}
	if x := attrs["completing"]; x != "" {
		felt = append(felt, "completing "+x)
	}

	text := "STALL  " + who
	if len(felt) > 0 {
		text += " " + strings.Join(felt, ", ")
	} else {
		text += ": " + message
	}
	if cause := attrs["known_cause"]; cause != "" {
		text += "; as before: " + cause
	}
	return text
}

// findingLine is a cause that was found; other findings are on the page.
func findingLine(title string, attrs map[string]string) string {
	event := attrs["event"]
	if attrs["kind"] != string(diagnose.Cause) || attrs["severity"] == string(diagnose.Info) ||
		event != "found" && event != "worse" && event != "again" {
		return ""
	}

	text := "cause  " + title + " (" + attrs["subject"] + ")"
	if share, err := strconv.ParseFloat(attrs["share"], 64); err == nil && share > 0 {
		text += ", in " + units.Percent(share) + " of the stall"
	}
	if fix := attrs["fix"]; fix != "" {
		text += ". Fix: " + fix
	}
	return text
}
