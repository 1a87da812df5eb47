package streamhttp

import "errors"

// MaxBatch is how many messages one batch may have.
const MaxBatch = 128

var (
	errBatch     = errors.New("a batch that is not one JSON array")
	errBatchSize = errors.New("a batch of no or too many messages")
)

// SplitBatch cuts a batch (2025-03-26) into its messages, at most [MaxBatch], each with its
// own bytes and still to be read by mcp.Parse.
func SplitBatch(raw []byte) ([][]byte, error) { return splitBatch(raw) }

// splitBatch cuts a JSON array into its elements, each with its own bytes. It judges only
// what stands between them: each element is still to be read by mcp.Parse, which refuses
// whatever is not exactly one object.
func splitBatch(raw []byte) ([][]byte, error) {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return nil, errBatch
	}
	i = skipSpace(raw, i+1)
	if i < len(raw) && raw[i] == ']' {
		return nil, errBatchSize
	}
	var elements [][]byte
	for {
		end := skipElement(raw, i)
		if end < 0 {
			return nil, errBatch
		}
		if len(elements) == MaxBatch {
			return nil, errBatchSize
		}
		elements = append(elements, raw[i:end:end])
		i = skipSpace(raw, end)
		if i >= len(raw) {
			return nil, errBatch
		}
		switch raw[i] {
		case ',':
			i = skipSpace(raw, i+1)
		case ']':
			if skipSpace(raw, i+1) != len(raw) {
				return nil, errBatch
			}
			return elements, nil
		default:
			return nil, errBatch
		}
	}
}

// skipElement returns where the value that starts at i ends, -1 if it does not.
func skipElement(raw []byte, i int) int {
	start, depth := i, 0
	for i < len(raw) {
		switch c := raw[i]; c {
		case '"':
			if i = skipString(raw, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return nonEmpty(start, i)
			}
			depth--
			i++
		case ',':
			if depth == 0 {
				return nonEmpty(start, i)
			}
			i++
		default:
			if depth == 0 && isSpace(c) {
				return nonEmpty(start, i)
			}
			i++
		}
		if depth == 0 && i > start && (raw[i-1] == '}' || raw[i-1] == ']' || raw[start] == '"') {
			return i
		}
	}
	return -1
}

func nonEmpty(start, end int) int {
	if start == end {
		return -1
	}
	return end
}

// skipString returns where the string that starts at i ends, -1 if it does not.
func skipString(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && isSpace(raw[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// joinBatch writes messages as one array.
func joinBatch(messages [][]byte) []byte {
	size := 2
	for _, m := range messages {
		size += len(m) + 1
	}
	b := append(make([]byte, 0, size), '[')
	for i, m := range messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m...)
	}
	return append(b, ']')
}
