package database

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/workload"
)

// Compared with a map and a list: a number belongs to one operation until it is returned, queues keep
// their order, and there are never more slots than there were concurrent operations.
func TestSlotsAndQueues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var slots Slots
		var queues [2]Queue
		var lists [2][]uint32
		keys := map[uint32]uint64{}
		most := 0
		n := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				n++
				i := slots.Take(workload.Op{Key: n}, vtime.Instant(n))
				if _, there := keys[i]; there {
					t.Fatalf("slot %d is given twice", i)
				}
				keys[i] = n
				most = max(most, len(keys))
				k := n % 2
				queues[k].Push(&slots, i)
				lists[k] = append(lists[k], i)
			},
			"pop": func(t *rapid.T) {
				k := rapid.IntRange(0, 1).Draw(t, "queue")
				if queues[k].Len() == 0 {
					t.Skip("empty")
				}

				i := queues[k].Pop(&slots)
				if i != lists[k][0] {
					t.Fatalf("%d comes out, %d was first", i, lists[k][0])
				}

				lists[k] = lists[k][1:]
				if rapid.Bool().Draw(t, "again") {
					queues[1-k].Push(&slots, i)
					lists[1-k] = append(lists[1-k], i)
					return
				}

				s := slots.At(i)
				s.Spend(s.Mark+5, WaitLock)
				if s.Waits[WaitLock] != 5 || s.Mark != vtime.Instant(keys[i]+5) {
					t.Fatalf("%+v", s)
				}

				slots.Give(i)
				delete(keys, i)
			},
			"": func(t *rapid.T) {
				for i, key := range keys {
					if got := slots.At(i).Op.Key; got != key {
						t.Fatalf("slot %d holds %d, not %d", i, got, key)
					}
				}

				for k := range queues {
					if got := slices.Collect(queues[k].All(&slots)); !slices.Equal(got, lists[k]) || queues[k].Len() != len(lists[k]) {
						t.Fatalf("queue %d has %v, not %v", k, got, lists[k])
					}
				}

				if len(slots.all) > most {
					t.Fatalf("%d slots for %d", len(slots.all), most)
				}
			},
		})
	})
}

func TestKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var kept Kept[int]
		there := map[uint64]int{}

		var numbers []uint64
		for n := range rapid.IntRange(1, 100).Draw(t, "n") {
			if len(numbers) > 0 && rapid.Bool().Draw(t, "take") {
				i := rapid.IntRange(0, len(numbers)-1).Draw(t, "which")
				number := numbers[i]
				numbers = slices.Delete(numbers, i, i+1)
				if at, x := *kept.At(number), kept.Take(number); x != there[number] || at != x {
					t.Fatalf("%d is %d and %d, not %d", number, at, x, there[number])
				}
				delete(there, number)
				continue
			}

			number := kept.Keep(n)
			if _, ok := there[number]; ok {
				t.Fatalf("number %d is given twice", number)
			}

			there[number] = n
			numbers = append(numbers, number)
		}
	})
}
