//go:build !race

package ftdc

const underRace = false
