//go:build linux

package tracer

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// symbols are the kernel's functions, sorted by address.
type symbols []symbol

type symbol struct {
	address uint64
	name    string
}

const symbolsPath = "/proc/kallsyms"

// readSymbols reads the kernel's own list. It fails if the addresses are hidden.
func readSymbols() (symbols, error) {
	f, err := os.Open(symbolsPath)
	if err != nil {
		return nil, err
	}

	defer f.Close()
	var all symbols
	in := bufio.NewScanner(f)
	for in.Scan() {
		// A line is "ffffffff81000000 T _stext", followed by the module in brackets.
		word, rest, _ := strings.Cut(in.Text(), " ")
		kind, name, _ := strings.Cut(rest, " ")
		if kind != "t" && kind != "T" && kind != "w" && kind != "W" {
			continue
		}

		address, err := strconv.ParseUint(word, 16, 64)
		if err != nil || address == 0 {
			continue
		}

		name, _, _ = strings.Cut(name, "\t")
		name, _, _ = strings.Cut(name, ".") // compilers append suffixes such as .isra.0 or .part.1
		all = append(all, symbol{address, strings.Clone(name)})
	}

	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", symbolsPath, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s hides the addresses: needs CAP_SYSLOG, or kernel.kptr_restrict below 2",
			symbolsPath)
	}

	slices.SortStableFunc(all, func(a, b symbol) int { return cmp.Compare(a.address, b.address) })
	return all, nil
}

// name returns the function that contains an address.
func (s symbols) name(address uint64) string {
	i := sort.Search(len(s), func(i int) bool { return s[i].address > address })
	if i == 0 {
		return "?"
	}
	return s[i-1].name
}
