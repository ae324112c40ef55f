package top

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"

	"plimsoll/internal/present/frame"
)

// Show displays frames on the terminal until the user quits or the context ends, and then restores
// the terminal.
func Show(ctx context.Context, opt Options) error {
	// Do not query the terminal's capabilities: over a slow connection the answers arrive late, and
	// would become input of the next program. All terminals support what is used here.
	t, err := tcell.NewTerminfoScreen(tcell.OptNegotiation(false))
	if err == nil {
		err = t.Init()
	}
	if err != nil {
		return fmt.Errorf("cannot use the terminal: %w", err)
	}
	defer t.Fini() // also while a panic unwinds
	t.HideCursor()
	opt.View.Keys = true
	return (&display{Options: opt, term: t, state: newState(opt), styles: styles(opt.Color)}).run(ctx)
}

// A display is a screen while it is shown.
type display struct {
	Options
	term   tcell.Screen
	state  *State
	styles map[frame.Style]tcell.Style

	have    loaded
	shown   *frame.Moment
	loading bool
	due     bool // a second has passed since the last request to live sources
}

// run is the event loop: keys, frames, and loaded data.
func (d *display) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	arrived := make(chan loaded, 1)
	request := func() {
		// At most one request at a time: a diagnosis may take longer than a frame.
		if d.loading || !d.needs() {
			return
		}
		d.loading = true
		at := d.state.wanted()
		go func() { arrived <- load(ctx, d.Feed, at) }()
	}

	tick := time.NewTicker(frameEvery)
	defer tick.Stop()
	request()

	for {
		d.draw()
		select {
		case <-ctx.Done():
			return nil
		case p := <-d.Panics:
			panic(p)
		case got := <-arrived:
			d.loading = false
			if err := d.accept(got); err != nil {
				return err
			}
			request() // the moment may have moved on in the meantime
		case <-tick.C:
			d.state.tick()
			d.due = true
			request()
		case ev, ok := <-d.term.EventQ():
			if !ok {
				return errors.New("the terminal is gone")
			}
			if quit := d.event(ev); quit {
				return nil
			}
			request()
		}
	}
}

// needs reports whether to request data: once a second for the newest moment, and for another one
// if the loaded data does not include it.
func (d *display) needs() bool {
	if d.have.c == nil || d.have.c.Grid.N == 0 {
		return d.due || d.have.err == nil
	}
	if d.state.live {
		return d.state.Follow && d.due
	}
	whole := d.have.c.Whole()
	return d.state.At.Before(whole.From) || d.state.At.After(whole.To)
}

// accept stores the feed's results.
func (d *display) accept(got loaded) error {
	d.due = false
	switch {
	case got.panicked != nil:
		panic(got.panicked)
	case errors.Is(got.err, ErrWaiting):
		d.have.err = got.err
		return nil
	case errors.Is(got.err, context.Canceled):
		return nil
	case got.err != nil:
		return got.err
	}

	if d.state.live && !d.state.Follow && d.have.c != nil {
		return nil // it was requested before the screen was frozen
	}

	d.have = got
	return nil
}

// event handles a key or a change of the terminal's size.
func (d *display) event(ev tcell.Event) (quit bool) {
	switch ev := ev.(type) {
	case *tcell.EventResize:
		d.term.Sync()
	case *tcell.EventKey:
		if ev.Key() == tcell.KeyCtrlL {
			d.term.Sync()
			return false
		}

		if ev.Key() == tcell.KeyCtrlZ {
			suspend(d.term)
			return false
		}

		a := d.state.Press(keyOf(ev), d.shown)
		if a.Mark != nil {
			d.mark(*a.Mark)
		}

		return a.Quit
	}
	return false
}

// mark marks the shown moment and reports where.
func (d *display) mark(text string) {
	at := d.shown.At
	if d.shown.To.IsZero() {
		at = time.Now()
	}
	where, err := d.Feed.Mark(at, text)
	if err != nil {
		d.state.Message = "cannot mark: " + err.Error()
		return
	}
	d.state.Message = "marked " + where
	d.due = true
	if d.state.live {
		d.state.Follow = true
	}
}

// draw draws the frame on the terminal.
func (d *display) draw() {
	v := d.state.view(d.View)
	v.Width, v.Height = d.term.Size()
	d.shown = d.state.moment(d.have)
	d.term.Clear()

	for y, l := range frame.Render(d.shown, v) {
		x := 0
		for _, p := range l {
			for text := p.Text; text != "" && x < v.Width; {
				rest, w := d.term.Put(x, y, text, d.styles[p.Style])
				// A control character is not drawn and would loop forever.
				if rest == text {
					break
				}
				text, x = rest, x+w
			}
		}
	}

	d.term.Show()
}

// styles maps the frame's styles to terminal styles.
func styles(colored bool) map[frame.Style]tcell.Style {
	plain := tcell.StyleDefault
	out := map[frame.Style]tcell.Style{frame.Dim: plain.Dim(true), frame.Bold: plain.Bold(true),
		frame.Reverse: plain.Reverse(true),
		frame.Bad:     plain.Bold(true), frame.Warn: plain.Bold(true)}
	if colored {
		out[frame.Ok], out[frame.Warn] = plain.Foreground(color.Green), plain.Foreground(color.Yellow)
		out[frame.Bad], out[frame.Accent] = plain.Foreground(color.Red).Bold(true), plain.Foreground(color.Teal)
	}
	return out
}

var keys = map[tcell.Key]Key{
	tcell.KeyLeft: Left, tcell.KeyRight: Right, tcell.KeyUp: Up, tcell.KeyDown: Down, tcell.KeyPgUp: PgUp,
	tcell.KeyPgDn: PgDn,
	tcell.KeyHome: Home, tcell.KeyEnd: End, tcell.KeyEnter: Enter, tcell.KeyEsc: Escape,
	tcell.KeyBackspace: Backspace, tcell.KeyBackspace2: Backspace,
	tcell.KeyCtrlC: Interrupt, tcell.KeyF1: "?", tcell.KeyF10: "q",
}

func keyOf(ev *tcell.EventKey) Key {
	if k, ok := keys[ev.Key()]; ok {
		return k
	}
	if ev.Key() == tcell.KeyRune {
		return Key(ev.Str())
	}
	return ""
}
