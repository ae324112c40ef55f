package rules

// A Group is the signals that one package declares, in display order.
type Group []*Signal

// Add declares a signal.
func (g *Group) Add(s Signal) *Signal {
	*g = append(*g, &s)
	return &s
}

// core holds the signals that belong to no engine: those of disks, hosts, containers, fio and
// clients.
var core Group
