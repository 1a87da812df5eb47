package strictyaml

import "strings"

// Hint says which candidate looks most like got ("; did you mean X?"), or what the
// candidates are when none does and they are few. It may be "".
func Hint(got string, candidates []string) string {
	if hint := didYouMean(got, candidates); hint != "" {
		return hint
	}
	if len(candidates) > 0 && len(candidates) <= 12 {
		return "; known here: " + strings.Join(candidates, ", ")
	}
	return ""
}

func didYouMean(got string, candidates []string) string {
	if best := closest(got, candidates); best != "" {
		return "; did you mean " + Quote(best) + "?"
	}
	return ""
}

func closest(got string, candidates []string) string {
	if len(got) > 64 {
		return ""
	}
	best, bestDistance := "", len(got)
	for _, c := range candidates {
		if len(c) > 64 {
			continue
		}
		limit := max(1, len(got)/3)
		if len(got) > 3 && len(c) > 3 && got[:3] == c[:3] {
			limit = len(got) / 2 // the same word in another form: denied, deny
		}
		if d := distance(strings.ToLower(got), strings.ToLower(c)); d <= limit && d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func distance(a, b string) int {
	var before, last, row [65 * 4]int
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
