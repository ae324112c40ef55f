package iostat

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
)

// xmlReports reads sadf -x. Its elements have the names and figures of sadf's JSON, as attributes.
type xmlReports struct {
	jsonReports

	in  *budget
	xml *xml.Decoder
	s   *jsonStatistics // the report being read; nil outside of one
}

// isXML reports whether a text is sadf's XML.
func isXML(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("<")) &&
		(bytes.Contains(head, []byte("<!DOCTYPE sysstat")) || bytes.Contains(head, []byte("<sysstat")))
}

func newXMLReports(r io.Reader) *xmlReports {
	b := &budget{r: r, left: valueBytesMax}
	x := &xmlReports{in: b, xml: xml.NewDecoder(b)}
	x.offset = x.xml.InputOffset
	return x
}

// next implements reports.
func (x *xmlReports) next() (*report, bool) {
	for !x.ended {
		x.in.left = valueBytesMax
		token, err := x.xml.Token()

		var wrong *xml.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			x.ended = true
		case errors.As(err, &wrong):
			x.ended = true
			x.found.damage.add(int64(wrong.Line), x.xml.InputOffset(), "the XML ends early or is damaged: "+wrong.Msg)
		case err != nil:
			x.ended = true
			x.found.damage.add(0, x.xml.InputOffset(), "read error: "+err.Error())
		default:
			if x.token(token) {
				return &x.rep, true
			}
		}
	}
	return nil, false
}

// token handles a token; true if it ends a report.
func (x *xmlReports) token(token xml.Token) (whole bool) {
	switch t := token.(type) {
	case xml.StartElement:
		x.start(&t)
	case xml.EndElement:
		if t.Name.Local != "timestamp" || x.s == nil {
			return false
		}
		x.n++
		x.fill(x.s)
		x.s = nil
		return true
	}
	return false
}

func (x *xmlReports) start(element *xml.StartElement) {
	get := func(name string) string {
		for _, a := range element.Attr {
			if a.Name.Local == name {
				return a.Value
			}
		}
		return ""
	}

	switch name := element.Name.Local; {
	case name == "host":
		x.found.host = get("nodename")
	case name == "release":
		x.found.kernel = "Linux " + x.text()
	case name == "number-of-cpus":
		if n, err := strconv.Atoi(x.text()); err == nil && n > 0 {
			x.found.cpus = n
		}
	case name == "file-date":
		if s, ok := parseDate([]byte(x.text())); ok && !x.found.date.hasDate {
			x.found.date = s
		}
	case name == "statistics":
		x.found.runs++
	case name == "timestamp":
		// A timestamp element encloses all tables of one report.
		x.s = &jsonStatistics{Timestamp: jsonTime{text: get("date") + " " + get("time"), sadf: true,
			utc: get("utc") == "1" || get("tz") == "UTC"}}
	// Tables outside of a timestamp have no time to be placed at.
	case x.s == nil:
	case name == "cpu":
		row := figuresOf(element)
		row["cpu"] = get("number")
		x.s.Load = append(x.s.Load, row)
	case name == "disk":
		if x.s.Disk == nil {
			x.s.Disk = &[]map[string]any{}
		}
	// One over the bound is kept, so that the reader notices that there were more.
	case name == "disk-device" && x.s.Disk != nil && len(*x.s.Disk) <= devicesMax:
		row := figuresOf(element)
		row["disk-device"] = get("dev")
		*x.s.Disk = append(*x.s.Disk, row)
	case name == "queue":
		x.s.Queue = figuresOf(element)
	case name == "paging":
		x.s.Paging = figuresOf(element)
	case name == "swap-pages":
		x.s.Swap = figuresOf(element)
	}
}

// text is the text of an element without others; "" if it has none. The next token returns the same error.
func (x *xmlReports) text() string {
	token, err := x.xml.Token()
	if data, ok := token.(xml.CharData); ok && err == nil {
		return strings.TrimSpace(string(data))
	}
	return ""
}

// figuresOf returns the attributes that are numbers.
func figuresOf(t *xml.StartElement) map[string]any {
	out := map[string]any{}
	for _, a := range t.Attr {
		if v, err := strconv.ParseFloat(a.Value, 64); err == nil {
			out[a.Name.Local] = v
		}
	}
	return out
}
