package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/base/units"
)

// Bounds of an import. Descriptions of all 1,400 types of one region are 5 MB.
const (
	// ImportBytesMax is how large a file may be.
	ImportBytesMax = 256 << 20
	listBytesMax   = 32 << 20 // of comma-separated prices: ten times all types in all regions
	importedMax    = 50_000   // instances and their prices, in one file and in total
	regionsMax     = 100      // of prices of volumes
)

// An Import is the content of one imported file.
type Import struct {
	Source         Source
	Instances      []InstanceType
	InstancePrices []NamedPrice
	VolumePrices   []NamedPrices
	Skipped        int  // elements of the file for products that the catalogue does not have
	More           bool // the file is one page of several

	count  int
	today  string            // a price that begins later is none yet
	meters map[string]string // Azure: the rank of the row that a meter's price came from
}

// A NamedPrice is a price of a type of instance.
type NamedPrice struct {
	Instance string        `json:"instance"`
	Price    InstancePrice `json:"price"`
}

// NamedPrices are prices of a type of volume.
type NamedPrices struct {
	Type   string `json:"type"`
	Prices Prices `json:"prices"`
}

// An ImportError describes an error in a file and its position.
type ImportError struct {
	File string
	At   int64 // byte, from 0; -1 if the error itself states the line
	Line int
	Err  error
}

func (e *ImportError) Error() string {
	if e.At < 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s: line %d, byte %d: %v", e.File, e.Line, e.At, e.Err)
}

func (e *ImportError) Unwrap() error { return e.Err }

// Hint lists the formats that can be imported.
func (e *ImportError) Hint() string {
	return "what is read: aws ec2 describe-instance-types, aws pricing get-products, Azure's retail prices, Google's Compute Engine SKUs (all as JSON), CSV with a header of instance_type,usd_per_hour"
}

// ReadImport reads the output of a provider's tool and recognises the tool by the content: the JSON
// of `aws ec2 describe-instance-types`, of `aws pricing get-products`, of Azure's retail prices or
// of Google's billing catalogue, or comma-separated prices. file is its name in errors and, with
// today's date, in the figures' source.
func ReadImport(file string, text []byte, today string) (*Import, error) {
	in := &Import{Source: Source{Text: "imported from " + filepath.Base(file), Date: today}, today: today,
		meters: map[string]string{}}
	fail := func(at int64, err error) error {
		e := &ImportError{File: file, At: at, Err: err}
		if at >= 0 {
			at = min(at, int64(len(text)))
			e.Line = 1 + bytes.Count(text[:at], []byte("\n"))
		}
		return e
	}

	// PowerShell redirects output with a byte order mark.
	trimmed := bytes.TrimLeft(text, "\ufeff \t\r\n")
	switch {
	case len(text) > ImportBytesMax:
		return nil, fail(-1, tooLarge())
	case len(trimmed) == 0:
		return nil, fail(-1, errors.New("empty"))
	case !utf8.Valid(text):
		return nil, fail(-1, errors.New("not UTF-8 text"))
	case trimmed[0] == '{' || trimmed[0] == '[':
		r := &jsonReader{in: in, base: int64(len(text) - len(trimmed)),
			d: json.NewDecoder(bytes.NewReader(trimmed)), length: int64(len(trimmed))}
		if at, err := r.read(); err != nil {
			return nil, fail(at, err)
		}
	case len(text) > listBytesMax:
		return nil, fail(-1, fmt.Errorf("neither JSON nor a list of prices of at most %s",
			units.Bytes(listBytesMax)))
	default:
		if err := in.list(bytes.NewReader(text)); err != nil {
			return nil, fail(-1, err)
		}
	}

	if len(in.Instances)+len(in.InstancePrices)+len(in.VolumePrices) == 0 {
		return nil, fail(-1, fmt.Errorf("contains nothing that the catalogue has: skipped %d entries", in.Skipped))
	}

	return in, nil
}

// begun reports whether a price is in effect today, given its start in RFC 3339; an empty start is
// in the past.
func (in *Import) begun(at string) bool {
	return in.today == "" || at[:min(len(at), len(in.today))] <= in.today
}

func tooLarge() error {
	return fmt.Errorf("larger than %s: request less at a time, for example with --filters", units.Bytes(float64(ImportBytesMax)))
}

// A jsonReader reads JSON element by element, so that an error has a position and a large list is
// in memory only once.
type jsonReader struct {
	in           *Import
	d            *json.Decoder
	base, length int64
	instances    map[string]bool
}

// read returns the position of an error.
func (r *jsonReader) read() (int64, error) {
	r.instances = map[string]bool{}
	start, err := r.d.Token()
	if err != nil {
		return r.where(err)
	}

	if start == json.Delim('[') { // --query PriceList
		if at, err := r.elements("PriceList"); err != nil {
			return at, err
		}
	} else if at, err := r.object(); err != nil {
		return at, err
	}

	if r.d.More() {
		return r.base + r.d.InputOffset(), errors.New("something follows the JSON")
	}

	return 0, nil
}

// lists are the names of the tools' lists: AWS's two, Azure's and Google's.
var lists = []string{"InstanceTypes", "PriceList", "Items", "skus"}

// object goes through the outermost object.
func (r *jsonReader) object() (int64, error) {
	known, refused := false, ""
	for r.d.More() {
		key, err := r.d.Token()
		if err != nil {
			return r.where(err)
		}

		if !slices.Contains(lists, fmt.Sprint(key)) {
			var passed json.RawMessage
			if err := r.d.Decode(&passed); err != nil {
				return r.where(err)
			}

			// A nonempty link means that the provider has more pages, and the caller warns that
			// prices are missing.
			if (key == "NextPageLink" || key == "nextPageToken") && len(passed) > len(`""`) &&
				string(passed) != "null" {
				r.in.More = true
			}

			if strings.EqualFold(fmt.Sprint(key), "error") {
				refused = providersError(passed)
			}

			continue
		}

		known = true
		begin, err := r.d.Token()
		if err != nil {
			return r.where(err)
		}

		if begin != json.Delim('[') {
			return r.base + r.d.InputOffset(), fmt.Errorf("%s is not a list", key)
		}

		if at, err := r.elements(fmt.Sprint(key)); err != nil {
			return at, err
		}
	}

	if _, err := r.d.Token(); err != nil {
		return r.where(err)
	}
	if !known && refused != "" {
		return r.base, fmt.Errorf("the provider's error instead of prices: %q", refused)
	}
	if !known {
		return r.base, errors.New("JSON without a list called InstanceTypes, PriceList, Items or skus")
	}

	return 0, nil
}

// providersError returns the message of an error in the form of Google's and Azure's APIs; "" if it
// has another form.
func providersError(text json.RawMessage) string {
	var e struct{ Message string }
	if json.Unmarshal(text, &e) != nil {
		return ""
	}
	return e.Message
}

// elements reads a list to its end, after its opening bracket.
func (r *jsonReader) elements(of string) (int64, error) {
	for n := 0; r.d.More(); n++ {
		var element json.RawMessage
		if err := r.d.Decode(&element); err != nil {
			return r.where(err)
		}

		// The decoder is past the element now; report where the element begins.
		at := r.base + r.d.InputOffset() - int64(len(element))
		if err := r.element(of, element); err != nil {
			var syntax *json.SyntaxError
			var kind *json.UnmarshalTypeError
			if errors.As(err, &kind) {
				err = fmt.Errorf("%s is a %s, which that tool never prints", kind.Field, kind.Value)
			} else if errors.As(err, &syntax) {
				err = fmt.Errorf("in its text: %w", err)
			}
			return at, fmt.Errorf("%s[%d]: %w", of, n, err)
		}
	}

	if _, err := r.d.Token(); err != nil {
		return r.where(err)
	}

	return 0, nil
}

func (r *jsonReader) element(of string, element []byte) error {
	in := r.in
	if of == "PriceList" {
		if element[0] == '"' { // the tool prints each product as JSON within a string
			var text string
			if err := json.Unmarshal(element, &text); err != nil {
				return err
			}
			element = []byte(text)
		}
		return in.add(element)
	}

	switch of {
	case "Items":
		return in.addAzure(element)
	case "skus":
		return in.addGoogle(element)
	}

	i, err := DescribedInstance("", element)
	if err != nil {
		return err
	}

	switch {
	case r.instances[i.Name]:
		return fmt.Errorf("%s is there twice", i.Name)
	case len(in.Instances) >= importedMax:
		return fmt.Errorf("more than %s instance types", units.Count(importedMax))
	}

	r.instances[i.Name] = true
	i.Source = in.Source
	in.Instances = append(in.Instances, i)

	return nil
}

// where returns the position of a decoder's error.
func (r *jsonReader) where(err error) (int64, error) {
	var syntax *json.SyntaxError
	at := r.d.InputOffset()
	switch {
	case errors.As(err, &syntax) && syntax.Offset > 0:
		// SyntaxError counts the bytes read, including the offending one.
		at = syntax.Offset - 1
	case err.Error() == "EOF" || err.Error() == "unexpected EOF":
		at, err = r.length, errors.New("the JSON is incomplete: was the file cut off?")
	}
	return r.base + at, err
}
