package html

import "strings"

// A tint is a colour in both themes.
type tint struct {
	name, light, dark string
}

// palette has the colours of all pages. A test computes the contrast of each with its background
// (WCAG 2.2, 1.4.3 and 1.4.11). The colours of series are from the colour-blind safe set of Okabe
// and Ito, darkened or lightened for their background; series also differ in their dashes.
var palette = []tint{
	{"ground", "#ffffff", "#11151b"},
	{"raised", "#f6f8fa", "#191f27"},
	{"text", "#1b2129", "#e4e8ee"},
	{"muted", "#57606d", "#9ea9b8"},
	{"rule", "#dce1e8", "#2c3440"},
	{"frame", "#7d8897", "#667386"},
	{"link", "#0b5cab", "#79b8ff"},
	{"focus", "#0b5cab", "#79b8ff"},
	{"critical", "#b3261e", "#ff8a80"},
	{"warning", "#8a5300", "#f0b35a"},
	{"good", "#1a6b3c", "#6fd39a"},
	{"info", "#0b5cab", "#79b8ff"},
	{"stall", "#b3261e", "#ff8a80"},
	{"s1", "#0a63b0", "#63aeff"},
	{"s2", "#b54800", "#ffa15c"},
	{"s3", "#00735a", "#4fd0ac"},
	{"s4", "#9a3d7c", "#e79bc9"},
	{"heat1", "#dbe8f6", "#1d2c3f"},
	{"heat2", "#a9cbeb", "#234a75"},
	{"heat3", "#6ba4d8", "#2f6fb0"},
	{"heat4", "#2f77bb", "#5b9fe0"},
	{"heat5", "#0c4a86", "#a5d0ff"},
	{"heat6", "#06264a", "#e8f3ff"},
}

// heatLevels is how many colours a heat map has.
const heatLevels = 6

// themes returns the palette as CSS variables: light by default, dark if the system is dark and the
// reader did not choose light, dark if the reader chose it, and light for printing.
func themes() string {
	var light, dark strings.Builder
	light.WriteString("color-scheme:light;")
	dark.WriteString("color-scheme:dark;")
	for _, t := range palette {
		light.WriteString("--" + t.name + ":" + t.light + ";")
		dark.WriteString("--" + t.name + ":" + t.dark + ";")
	}
	return ":root{" + light.String() + "}\n" +
		"@media (prefers-color-scheme:dark){:root:not([data-theme=light]){" + dark.String() + "}}\n" +
		":root[data-theme=dark]{" + dark.String() + "}\n" +
		"@media print{:root,:root[data-theme=dark],:root:not([data-theme=light]){" + light.String() + "}}\n"
}
