package statcolumns

import "time"

// clock gives rows their times. mongostat prints a time of day with a zone, a date without a year, or
// a whole date; its JSON has the first.
type clock struct {
	loc  *time.Location
	year int

	rows    int
	host    string // whose rows are counted; other servers' rows have the same times
	days    int    // midnights
	last    time.Duration
	assumed bool

	// The second pass starts over.
	seen     int
	day      int
	before   time.Duration
	end      time.Time
	midnight time.Time
}

// parsed is a row's time: a date, or a time of day.
type parsed struct {
	at    time.Time
	ofDay time.Duration
	dated bool
	timed bool
}

func (c *clock) parse(text string) (p parsed) {
	for _, layout := range []string{time.RFC3339Nano, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return parsed{at: at, dated: true, timed: true}
		}
	}

	for _, layout := range []string{"Jan _2 15:04:05.000", "Jan 2 15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, c.loc); err == nil {
			return parsed{at: at.AddDate(c.year, 0, 0), dated: true, timed: true}
		}
	}

	for _, layout := range []string{"15:04:05Z07:00", "15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, c.loc); err == nil {
			h, m, s := at.Clock()
			return parsed{ofDay: time.Duration(h*3600+m*60+s) * time.Second, timed: true}
		}
	}

	return parsed{}
}

// count is the first pass.
func (c *clock) count(r row) {
	if c.rows == 0 {
		c.host = r.host
	}
	if r.host != c.host {
		return
	}

	c.rows++
	p := c.parse(r.values["time"])
	if p.timed && !p.dated {
		if p.ofDay < c.last {
			c.days++
		}
		c.last = p.ofDay
	}
}

// begin prepares the second pass.
func (c *clock) begin(modified time.Time) {
	c.end = modified.Truncate(time.Second)
	if modified.IsZero() || modified.Unix() <= 0 {
		c.end = time.Unix(1e9, 0)
	}

	// Times of day belong to the last day on which the file can have been written.
	l := c.end.In(c.loc)
	c.midnight = time.Date(l.Year(), l.Month(), l.Day(), 0, 0, 0, 0, c.loc)
	if c.midnight.Add(c.last).After(l.Add(time.Minute)) {
		c.midnight = c.midnight.AddDate(0, 0, -1)
	}
}

func (c *clock) at(r row, stamp time.Time) time.Time {
	p := c.parse(r.values["time"])
	mine := r.host == c.host
	if mine {
		c.seen++
	}

	switch {
	case p.dated:
		return p.at
	case !stamp.IsZero():
		return stamp
	case p.timed:
		if p.ofDay < c.before && mine {
			c.day++
		}
		if mine {
			c.before = p.ofDay
		}
		c.assumed = true
		return c.midnight.AddDate(0, 0, c.day-c.days).Add(p.ofDay)
	}

	c.assumed = true
	return c.end.Add(-time.Duration(c.rows-c.seen) * time.Second)
}
