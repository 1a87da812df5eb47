package doc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// FromGo converts nil, bool, string, the integer types, float32 and float64 (finite),
// [json.Number], []any, []string, map[string]any (members sorted by name) and [Value]
// itself. It is for programs that call the engine without JSON bytes at hand. Text
// that is not valid UTF-8, and trees beyond the default [Limits] (a cycle, say), are
// errors. The result shares nothing with v.
func FromGo(v any) (Value, error) {
	c := converter{nodes: DefaultNodes}
	return c.value(v, 0)
}

type converter struct{ nodes int }

func (c *converter) value(v any, depth int) (Value, error) {
	if c.nodes--; c.nodes < 0 {
		return Value{}, errors.New("doc: too many values")
	}
	if depth > DefaultDepth {
		return Value{}, errors.New("doc: nested too deeply")
	}
	switch v := v.(type) {
	case nil:
		return Value{kind: Null}, nil
	case Value:
		return v, nil
	case bool:
		return Value{kind: Bool, flag: v}, nil
	case string:
		return text(v)
	case json.Number:
		return numberLiteral(string(v))
	case []any:
		return c.list(v, depth)
	case []string:
		list := make([]Value, len(v))
		for i, s := range v {
			var err error
			if list[i], err = text(s); err != nil {
				return Value{}, err
			}
		}
		return listOf(list), nil
	case map[string]any:
		return c.object(v, depth)
	default:
		return goNumber(v)
	}
}

func (c *converter) list(in []any, depth int) (Value, error) {
	list := make([]Value, len(in))
	for i, e := range in {
		var err error
		if list[i], err = c.value(e, depth+1); err != nil {
			return Value{}, err
		}
		if list[i].kind == Absent {
			return Value{}, errors.New("doc: an absent value cannot be an element")
		}
	}
	return listOf(list), nil
}

func (c *converter) object(in map[string]any, depth int) (Value, error) {
	members := make([]Member, 0, len(in))
	for name, e := range in {
		if !utf8.ValidString(name) {
			return Value{}, errors.New("doc: a member name is not valid UTF-8")
		}
		v, err := c.value(e, depth+1)
		if err != nil {
			return Value{}, err
		}
		if v.kind == Absent {
			return Value{}, errors.New("doc: an absent value cannot be a member")
		}
		members = append(members, Member{Name: name, Value: v})
	}
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return objectOf(members), nil
}

func text(s string) (Value, error) {
	if !utf8.ValidString(s) {
		return Value{}, errors.New("doc: a string is not valid UTF-8")
	}
	return Value{kind: String, str: s}, nil
}

func numberLiteral(s string) (Value, error) {
	v, err := Parse([]byte(s), Limits{})
	if err != nil || v.kind != Number || len(v.str) != len(s) {
		return Value{}, errors.New("doc: a json.Number is not a JSON number")
	}
	return v, nil
}

func goNumber(v any) (Value, error) {
	var s string
	switch v := v.(type) {
	case int:
		s = strconv.FormatInt(int64(v), 10)
	case int8:
		s = strconv.FormatInt(int64(v), 10)
	case int16:
		s = strconv.FormatInt(int64(v), 10)
	case int32:
		s = strconv.FormatInt(int64(v), 10)
	case int64:
		s = strconv.FormatInt(v, 10)
	case uint:
		s = strconv.FormatUint(uint64(v), 10)
	case uint8:
		s = strconv.FormatUint(uint64(v), 10)
	case uint16:
		s = strconv.FormatUint(uint64(v), 10)
	case uint32:
		s = strconv.FormatUint(uint64(v), 10)
	case uint64:
		s = strconv.FormatUint(v, 10)
	case float32:
		return floatLiteral(float64(v), 32)
	case float64:
		return floatLiteral(v, 64)
	default:
		return Value{}, fmt.Errorf("doc: a Go value of type %T has no JSON form here", v)
	}
	return Value{kind: Number, str: s}, nil
}

func floatLiteral(f float64, bits int) (Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Value{}, errors.New("doc: a float is not finite")
	}
	return Value{kind: Number, str: strconv.FormatFloat(f, 'g', -1, bits)}, nil
}
