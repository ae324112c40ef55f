package catalog

import (
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/base/units"
)

// ParseOrder parses a volume's type, size, IOPS and throughput, separated by commas, as in
// "gp3,500GiB,6000IOPS,250MiB/s". Each may be left out.
func ParseOrder(text string) (Order, error) {
	var o Order
	for word := range strings.SplitSeq(text, ",") {
		if err := o.Take(strings.TrimSpace(word)); err != nil {
			return Order{}, err
		}
	}
	return o, nil
}

// Take adds one of these words to the order.
func (o *Order) Take(word string) error {
	if count, ok := strings.CutSuffix(strings.ToLower(word), "iops"); ok {
		n, err := ParseIOPS(strings.TrimSpace(count))
		if err == nil && o.IOPS != 0 {
			err = errors.New("IOPS twice")
		}
		o.IOPS = n
		return err
	}

	if strings.HasSuffix(word, "/s") {
		n, err := units.ParseThroughput(word)
		if err == nil && o.Throughput != 0 {
			err = errors.New("throughput twice")
		}
		o.Throughput = n
		return err
	}

	size, notSize := units.ParseSize(word)
	t, err := Type(word)
	switch {
	case notSize == nil && size > 0 && o.Size == 0:
		o.Size = size
	case notSize == nil && o.Size == 0:
		return fmt.Errorf("invalid size %s", word)
	case notSize == nil:
		return errors.New("two sizes")
	case err != nil:
		return fmt.Errorf("%q is neither a type nor a size", word)
	case t.Name == "custom":
		return errors.New("custom means that the type is not known: leave it out")
	case o.Type != "":
		return errors.New("two types")
	default:
		o.Type = t.Name
	}

	return nil
}
