package html

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

// luminance returns the relative luminance, as WCAG 2.2 defines it, of a colour such as #1b2129.
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(color[1:], 16, 32)
	if err != nil || len(color) != 7 {
		t.Fatalf("%q is not a colour", color)
	}

	sum := 0.0
	for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
		c := float64(n>>(8*i)&255) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}

	return sum
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// In both themes, text has at least the contrast of WCAG 2.2 AA (1.4.3: 4.5 to 1) with its background,
// and graphics that carry meaning have 3 to 1 (1.4.11).
func TestContrast(t *testing.T) {
	const text, graphic = 4.5, 3.0
	least := map[string]float64{"text": text, "muted": text, "link": text, "critical": text, "warning": text, "good": text, "info": text,
		"frame": graphic, "focus": graphic, "stall": graphic, "s1": graphic, "s2": graphic, "s3": graphic, "s4": graphic, "heat4": graphic}

	colors := map[string]tint{}
	for _, c := range palette {
		colors[c.name] = c
	}

	for name, want := range least {
		c, ok := colors[name]
		if !ok {
			t.Errorf("no colour %s", name)
			continue
		}

		for _, ground := range []string{"ground", "raised"} {
			g := colors[ground]
			if got := contrast(t, c.light, g.light); got < want {
				t.Errorf("light %s on %s: %.2f to 1, want %.1f", name, ground, got, want)
			}
			if got := contrast(t, c.dark, g.dark); got < want {
				t.Errorf("dark %s on %s: %.2f to 1, want %.1f", name, ground, got, want)
			}
		}
	}
}

// The levels of a heat map differ in lightness, always in the same direction, so they can be
// distinguished without colour.
func TestHeatLevelsAreOrdered(t *testing.T) {
	var light, dark []float64
	for _, c := range palette {
		if len(c.name) > 4 && c.name[:4] == "heat" {
			light, dark = append(light, luminance(t, c.light)), append(dark, luminance(t, c.dark))
		}
	}
	if len(light) != heatLevels {
		t.Fatalf("%d levels, want %d", len(light), heatLevels)
	}
	for i := 1; i < heatLevels; i++ {
		if light[i]+0.05 > (light[i-1]+0.05)/1.2 || dark[i]+0.05 < (dark[i-1]+0.05)*1.2 {
			t.Errorf("level %d hardly differs from the one before it", i+1)
		}
	}
}

// The style uses only colours from the palette, so that the contrast check covers all of it, and every
// variable it uses is defined.
func TestStyleUsesThePalette(t *testing.T) {
	style := asset("assets/page.css") + asset("assets/charts.js")
	if m := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|\brgba?\(`).FindAllString(asset("assets/page.css"), -1); m != nil {
		t.Errorf("colours that are not of the palette: %v", m)
	}
	defined := map[string]bool{}
	for _, c := range palette {
		defined[c.name] = true
	}
	for _, m := range regexp.MustCompile(`var\(--([a-z0-9]+)\)|color\("([a-z0-9]+)"\)`).FindAllStringSubmatch(style, -1) {
		if name := m[1] + m[2]; !defined[name] && name != "s" {
			t.Errorf("--%s is not of the palette", name)
		}
	}
}
