//go:build !unix

package recording

const openNoFollow = 0
