package report

// chart is bars, each of which has a value for each series, one upon the other.
type chart struct {
	title  string
	axis   string // what a bar stands for
	series []series
	bars   []bar
	time   bool // the bars stand beside each other, as time goes on
}

type series struct {
	name string
	tone tone
}

type bar struct {
	label  line
	values []int64 // one for each series
}

func (b bar) total() (n int64) {
	for _, v := range b.values {
		n += v
	}
	return n
}

func (c *chart) most() (n int64) {
	for _, b := range c.bars {
		n = max(n, b.total())
	}
	return n
}

// scale is v of most as a part of width; what is not nothing is at least 1.
func scale(v, most, width int64) int64 {
	if v <= 0 || most <= 0 {
		return 0
	}
	return max(1, int64(float64(v)/float64(most)*float64(width)+0.5))
}
