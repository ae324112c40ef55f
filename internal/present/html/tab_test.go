//go:build !race

package html

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromium starts a browser for a test, or skips it.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}

	if path == "" {
		t.Skip("no Chromium: Debian's package is chromium-headless-shell")
	}

	// Run without the browser's sandbox, which root and user namespaces cannot have. The pages are this
	// test's own.
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)

	if err := chromedp.Do(ctx); err != nil {
		t.Skipf("Chromium does not start here: %v", err)
	}

	return ctx
}

// A tab is an open page, with its error messages and network requests.
type tab struct {
	*testing.T
	ctx    context.Context
	path   string        // of the page's file
	loaded chan struct{} // receives a value for each page that was loaded

	mu       sync.Mutex
	trouble  []string
	requests []string
}

// A step is an action in a tab.
type step = chromedp.Action[chromedp.Void]

// command is a step that sends one command of the browser's protocol.
func command[P, R any](c cdp.Command[P, R], params P) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

func screen(width, height int64, mobile bool) step {
	return command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: mobile})
}

func media(kind, scheme string) step {
	return command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: kind, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// open shows a page from a file in a separate tab.
func open(browser context.Context, t *testing.T, page string, before ...step) *tab {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	p := &tab{T: t, ctx: ctx, path: path, loaded: make(chan struct{}, 8)}

	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatal(err)
	}

	p.run(command(cdppage.BringToFront, cdp.Empty{}), command(network.Enable, network.EnableParams{}), command(log.Enable, cdp.Empty{}), command(runtime.Enable, cdp.Empty{}), screen(1280, 900, false), media("", "light"))
	p.run(append(slices.Clone(before), chromedp.Navigate("file://"+path))...)
	p.load()

	return p
}

// load waits until a page has loaded.
func (p *tab) load() {
	p.Helper()
	bound := time.NewTimer(time.Minute)
	defer bound.Stop()
	select {
	case <-p.loaded:
	case <-bound.C:
		p.Fatal("the page is not loaded after a minute")
	}
}

func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()

	switch e := event.(type) {
	case *cdppage.EventLoadEventFired:
		p.loaded <- struct{}{}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "file://") || e.Type != network.ResourceTypeDocument {
			p.requests = append(p.requests, e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		p.trouble = append(p.trouble, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		p.trouble = append(p.trouble, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		p.trouble = append(p.trouble, e.Entry.Text) // including violations of a Content-Security-Policy
	}
}

// stepMost limits the time of each browser command, so that a browser that hangs ends the test with the
// name of the step.
const stepMost = 3 * time.Minute

func (p *tab) run(steps ...step) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, stepMost)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

// quiet fails the test if the page reported an error or sent a network request.
func (p *tab) quiet() {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.trouble) > 0 {
		p.Errorf("the browser complains: %q", p.trouble)
	}
	if len(p.requests) > 0 {
		p.Errorf("the page asks for %q", p.requests)
	}
}

func (p *tab) settle() {
	p.Helper()
	js[bool](p, settled)
}

// settledWidth is the page's width once its charts have adapted to the screen: the browser reports
// a new size some frames later. The page has two seconds to become no wider than wanted.
func (p *tab) settledWidth(wanted int64) int64 {
	p.Helper()
	return js[int64](p, fmt.Sprintf(`new Promise(done => {
		const until = performance.now() + 2000;
		(function look() {
			const width = document.documentElement.scrollWidth;
			if (width <= %d || performance.now() > until) done(width); else setTimeout(look, 20);
		})();
	})`, wanted))
}

// view is the time range that all charts show, in seconds from the start of the whole. The test fails
// if they do not agree.
func (p *tab) view() (from, to float64) {
	p.Helper()
	p.settle()
	seen := js[[]string](p, `[...document.querySelectorAll(".live")].map(x => x.dataset.view)`)
	for _, s := range seen {
		if s != seen[0] {
			p.Fatalf("charts show different times: %v", seen)
		}
	}
	if _, err := fmt.Sscanf(seen[0], "%g %g", &from, &to); err != nil {
		p.Fatal(err)
	}
	return from, to
}

// change is called before a tab's localStorage changes; the returned function waits for that
// change. This tab is another one of the same origin, so it gets an event once the browser has
// stored the change, and from then on none of its processes can miss it.
func (p *tab) change() (wait func()) {
	p.Helper()
	js[bool](p, `(window.changed = new Promise(done => addEventListener("storage", () => done(true), {once: true})), true)`)
	return func() { p.Helper(); js[bool](p, `window.changed`) }
}

// reload loads the page again as the page itself would, which the browser does in the same process.
func (p *tab) reload() {
	p.Helper()
	// A script that reloads its page may disappear before its own answer is sent.
	p.run(command(cdppage.Reload, cdppage.ReloadParams{}))
	p.load()
}
