//go:build !race

// The race detector would find nothing in a browser, and compiling the browser's protocol once is
// enough.

package html

import (
	"context"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/testkit"
)

// pageBytesMax is the largest size of a page for an hour at one second.
const pageBytesMax = 2_000_000

// js evaluates an expression on the page, and waits for a promise's result.
func js[R any](p *tab, expression string) R {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, stepMost)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[R](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatal(err)
	}
	return out
}

func TestInChromium(t *testing.T) {
	browser := chromium(t)
	all := pages(t)
	t.Run("loads", func(t *testing.T) {
		for name, page := range all {
			t.Run(name, func(t *testing.T) { loads(browser, t, page) })
		}
	})

	t.Run("zoom", func(t *testing.T) { zooms(browser, t, all["hour"]) })
	t.Run("reload", func(t *testing.T) { remembers(browser, t, all["hour"]) })
	t.Run("theme", func(t *testing.T) { toggles(browser, t, all["diagnosis"]) })
	t.Run("names", func(t *testing.T) {
		page := pageOf(t, diagnosis.Document(stalledReport(120, `</script><img src=x onerror="hacked=1"><script>hacked=1</script>`), diagnosis.Options{Pack: testkit.Pack()}))
		p := open(browser, t, page)
		if js[bool](p, `"hacked" in window`) {
			t.Error("a device's name ran as a script")
		}
		p.quiet()
	})

	t.Run("long names", func(t *testing.T) {
		page := pageOf(t, diagnosis.Document(stalledReport(120, "eviction_dirty_target=5,"+strings.Repeat("/a_path_without_a_space", 9)), diagnosis.Options{Pack: testkit.Pack()}))
		loads(browser, t, page)
	})

	t.Run("paper", func(t *testing.T) {
		prints(browser, t, all["diagnosis"])
		for name, page := range all {
			if n := sheets(browser, t, page); n >= sheetsMax {
				t.Errorf("%s is printed on %d sheets, want fewer than %d", name, n, sheetsMax)
			}
		}
	})

	t.Run("no scripts", func(t *testing.T) {
		p := open(browser, t, all["diagnosis"], command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
		if !js[bool](p, `document.querySelector(".still svg").getBoundingClientRect().height > 50`) {
			t.Error("without scripts no chart is shown")
		}
	})
}

// loads opens a page, on a desktop and on a phone.
func loads(browser context.Context, t *testing.T, page string) {
	if len(page) > pageBytesMax {
		t.Errorf("%d bytes, more than %d", len(page), pageBytesMax)
	}

	p := open(browser, t, page)
	ms := js[float64](p, `performance.getEntriesByType("navigation")[0].duration`)
	charts := js[int](p, `document.querySelectorAll(".live canvas").length`)
	t.Logf("%d kB, loaded in %.0f ms, %d charts", len(page)/1000, ms, charts)

	if want := strings.Count(page, `class="live"`); charts != want {
		t.Errorf("%d charts are drawn, of %d", charts, want)
	}

	for _, width := range []int64{390, 1280} {
		p.run(screen(width, 844, width < 500))
		if got := p.settledWidth(width); got > width {
			t.Errorf("%d wide, the page is %d wide and scrolls sideways", width, got)
		}
		// A table with text that is too wide for a phone shows its rows below each other, all of it
		// visible.
		if hidden := js[[]string](p, `[...document.querySelectorAll("table.stack")].filter(x => x.parentElement.scrollWidth > x.parentElement.clientWidth + 1).map(x => x.caption.textContent)`); len(hidden) > 0 && width < 500 {
			t.Errorf("%d wide, parts of these tables are out of sight: %q", width, hidden)
		}
		// Text of drawings is as large as on a wide screen: they scroll instead of shrinking.
		if small := js[[]string](p, `[...document.querySelectorAll("svg text")].filter(x => x.getBoundingClientRect().width > 0 && parseFloat(getComputedStyle(x).fontSize) * x.getScreenCTM().a < 10.9).map(x => x.textContent)`); len(small) > 0 && width < 500 {
			t.Errorf("%d wide, this text of drawings is too small: %q", width, small)
		}
	}

	p.quiet()
}

// settled is an expression that waits until charts are redrawn: uPlot draws in a microtask, before
// the next task.
const settled = `new Promise(done => setTimeout(() => done(true)))`

// zooms drags, types and clicks, and checks that all charts show the same time.
func zooms(browser context.Context, t *testing.T, page string) {
	p := open(browser, t, page)
	near := func(what string, wantFrom, wantTo float64) {
		t.Helper()
		if from, to := p.view(); math.Abs(from-wantFrom) > 30 || math.Abs(to-wantTo) > 30 {
			t.Errorf("%s: %.0f s to %.0f s is shown, want %.0f to %.0f", what, from, to, wantFrom, wantTo)
		}
	}

	near("at first", 0, 3600)
	box := js[[]float64](p, `(() => { const c = document.querySelectorAll(".live .u-over")[1]; c.scrollIntoView({block: "center", behavior: "instant"}); const r = c.getBoundingClientRect(); return [r.left, r.top, r.width, r.height] })()`)
	x := func(share float64) float64 { return box[0] + share*box[2] }
	y := box[1] + box[3]/2
	p.run(chromedp.DragAndDropXY(x(0.25), y, x(0.5), y, 5))
	near("dragged over the second quarter", 900, 1800)
	p.run(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x(0.5), y))

	if read := js[[]string](p, `[...document.querySelectorAll(".chart output")].map(x => x.textContent)`); slices.Contains(read, "") {
		t.Errorf("the cursor is shared, but not all charts show its value: %q", read)
	}

	p.run(chromedp.Focus(chromedp.CSS(".live")), chromedp.KeyEvent("+"))
	near("+ shows half of it", 1125, 1575)
	p.run(chromedp.KeyEvent(kb.ArrowRight))
	near("right, by a quarter", 1237, 1687)
	p.run(chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent("-"))
	near("back, and all of it", 900, 1800)

	if outline := js[string](p, `getComputedStyle(document.activeElement).outlineStyle`); outline == "none" {
		t.Error("the chart in focus is not marked")
	}

	p.run(chromedp.KeyEvent("0"))
	near("0", 0, 3600)
	p.run(chromedp.Click(chromedp.CSS(`[data-do="in"]`)))
	near("the button +", 900, 2700)
	p.run(chromedp.Click(chromedp.CSS(`[data-do="log"]`)))
	near("times on a logarithmic axis", 900, 2700)
	p.run(chromedp.Click(chromedp.CSS(`[data-do="all"]`)))
	near("the button All", 0, 3600)
	p.run(chromedp.Click(chromedp.CSS(`.when a`)))
	near("a time of a finding, with as much around it", 42-14, 56+14)
	p.quiet()
}

// remembers reloads a zoomed page, as watch does while its diagnosis continues: the zoom stays, and a
// zoom that reached the end follows the end.
func remembers(browser context.Context, t *testing.T, page string) {
	p := open(browser, t, page)
	shown := func(what string, wantFrom, wantTo float64, wantLog string) {
		t.Helper()
		if from, to := p.view(); math.Abs(from-wantFrom) > 1 || math.Abs(to-wantTo) > 1 {
			t.Errorf("%s: %.0f s to %.0f s is shown, want %.0f to %.0f", what, from, to, wantFrom, wantTo)
		}
		if got := js[string](p, `document.querySelector("[data-do=log]").getAttribute("aria-pressed")`); got != wantLog {
			t.Errorf("%s: the button of the logarithmic axis says %s, want %s", what, got, wantLog)
		}
	}

	shown("at first", 0, 3600, "false")
	p.run(chromedp.Click(chromedp.CSS(`[data-do="in"]`)), chromedp.Click(chromedp.CSS(`[data-do="log"]`)))
	p.reload()
	shown("zoomed by a button and loaded again", 900, 2700, "true")
	p.run(chromedp.Focus(chromedp.CSS(".live")), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight), chromedp.Click(chromedp.CSS(`[data-do="log"]`)))
	shown("moved to the end by keys", 1800, 3600, "false")
	later := func(seconds int) {
		t.Helper()
		page := pageOf(t, diagnosis.Document(stalledReport(seconds, "nvme1n1"), diagnosis.Options{Pack: testkit.Pack()}))
		if err := os.WriteFile(p.path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		p.reload()
	}

	later(3660)
	shown("a minute later", 1860, 3660, "false")
	p.run(chromedp.Focus(chromedp.CSS(".live")), chromedp.KeyEvent(kb.ArrowLeft))
	later(3720)
	shown("moved away from the end, and a minute later", 1410, 3210, "false")
	later(600)
	shown("of a page in which that stretch is not", 0, 600, "false")
	p.run(chromedp.Click(chromedp.CSS(`[data-do="in"]`)), chromedp.Click(chromedp.CSS(`[data-do="all"]`)))
	p.reload()
	shown("all of it again", 0, 600, "false")
	p.run(chromedp.Evaluate[chromedp.Void](`sessionStorage.setItem("plimsoll-view " + location.pathname, '{"from":"x","to":[1],"log":7}')`))
	p.reload()
	shown("what somebody else kept", 0, 600, "false")
	p.quiet()
}

// toggles changes the theme, which the charts follow and which is remembered.
func toggles(browser context.Context, t *testing.T, page string) {
	witness := open(browser, t, "<!DOCTYPE html><title>witness</title>")
	p := open(browser, t, page)
	ground := func() string { return js[string](p, `getComputedStyle(document.body).backgroundColor`) }
	line := func() string {
		p.settle()
		return js[string](p, `document.querySelector(".live canvas").toDataURL()`)
	}

	light, drawn := ground(), line()
	kept := witness.change()
	p.run(chromedp.Click(chromedp.CSS("#theme")))

	dark, redrawn := ground(), line()
	if light == dark || drawn == redrawn {
		t.Errorf("the ground is %s and then %s; the chart is redrawn: %v", light, dark, drawn != redrawn)
	}

	kept()
	p.reload()
	if got := ground(); got != dark {
		t.Errorf("after a reload the ground is %s: the theme was not remembered", got)
	}

	kept = witness.change()
	p.run(chromedp.Evaluate[chromedp.Void](`localStorage.clear()`), media("", "dark"))
	kept()
	p.reload()

	if got := ground(); got != dark {
		t.Errorf("where the system is dark and nothing was chosen, the ground is %s", got)
	}

	p.quiet()
}

// prints checks the page as printed: light, with the charts as drawings.
func prints(browser context.Context, t *testing.T, page string) {
	p := open(browser, t, page, media("print", "dark"))
	if got := js[string](p, `getComputedStyle(document.body).backgroundColor`); got != "rgb(255, 255, 255)" {
		t.Errorf("paper is %s", got)
	}
	shown := func(selector string) bool {
		return js[bool](p, `document.querySelector(`+"`"+selector+"`"+`).getBoundingClientRect().height > 0`)
	}
	for selector, want := range map[string]bool{".still svg": true, ".live": false, "#theme": false, "nav": false, "h1": true} {
		if got := shown(selector); got != want {
			t.Errorf("%s is printed: %v, want %v", selector, got, want)
		}
	}
}

// sheetsMax is the number of sheets of paper that a page must stay below.
const sheetsMax = 8

// sheets counts the sheets of paper of a page.
func sheets(browser context.Context, t *testing.T, page string) int {
	p := open(browser, t, page)
	var text []byte
	p.run(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		out, err := cdp.Call(ctx, t, cdppage.PrintToPDF, cdppage.PrintToPDFParams{PrintBackground: new(true), PreferCSSPageSize: new(true)})
		if err == nil {
			text = out.Data
		}
		return err
	}))
	n := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(text, -1)) // "/Pages" is their list
	if n == 0 {
		t.Fatalf("%d bytes of PDF without a page", len(text))
	}
	return n
}
