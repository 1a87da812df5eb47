package pins

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
)

// decode reads a file, all of it or nothing. Its errors quote nothing of the file.
func decode(data []byte) (*File, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", MaxFile>>20)
	}
	v, err := doc.Parse(data, doc.Limits{})
	if err != nil {
		return nil, err
	}
	if v.Kind() != doc.Object {
		return nil, errors.New("it is no JSON object")
	}
	switch version := v.Get("version"); {
	case version.Kind() != doc.Number:
		return nil, errors.New("it has no version")
	case version.Number() != "1":
		return nil, errors.New("it was written by another version of this program")
	}
	if err := only(v, "version", "id", "names", "shown", "definitions", "sets"); err != nil {
		return nil, err
	}
	d := decoder{defs: make(map[string]definition)}
	f := &File{ID: d.hex(v.Get("id")), Names: d.texts(v.Get("names"), maxNames, maxName), Shown: d.text(v.Get("shown"), maxShown)}
	d.definitions(v.Get("definitions"))
	sets := v.Get("sets")
	d.want(sets.Kind() == doc.List && sets.Len() <= maxSets, "sets has to be a list that is not too long")
	for _, s := range sets.Elements() {
		if d.err != nil {
			break
		}
		one := d.set(s)
		d.want(f.set(one.ID) == nil, "two sets have the same id")
		f.Sets = append(f.Sets, one)
	}
	for _, def := range d.defs {
		d.want(def.used, "a definition belongs to no tool")
	}
	if d.err != nil {
		return nil, d.err
	}
	return f, nil
}

type definition struct {
	sallyport.Pinned
	used bool
}

// decoder keeps the first thing that is wrong.
type decoder struct {
	err  error
	defs map[string]definition
}

func (d *decoder) want(ok bool, why string) {
	if !ok && d.err == nil {
		d.err = errors.New(why)
	}
}

func only(v doc.Value, names ...string) error {
	for m := range v.Members() {
		if !slices.Contains(names, m.Name) {
			return errors.New("it has a member that is not known")
		}
	}
	return nil
}

func (d *decoder) only(v doc.Value, names ...string) {
	d.want(v.Kind() == doc.Object, "an object is missing")
	d.want(only(v, names...) == nil, "it has a member that is not known")
}

func (d *decoder) text(v doc.Value, most int) string {
	d.want(v.Kind() == doc.String && len(v.String()) <= most, "a text is missing or too long")
	return v.String()
}

func (d *decoder) texts(v doc.Value, many, most int) []string {
	d.want(v.Kind() == doc.List && v.Len() <= many, "a list of texts is missing or too long")
	var all []string
	for _, e := range v.Elements() {
		all = append(all, d.text(e, most))
	}
	return all
}

func (d *decoder) hex(v doc.Value) string {
	s := v.String()
	raw, err := hex.DecodeString(s)
	d.want(err == nil && len(raw) == 32 && s == hex.EncodeToString(raw), "an id or digest is missing or malformed")
	return s
}

func (d *decoder) time(v doc.Value) time.Time {
	t, err := time.Parse(time.RFC3339, v.String())
	d.want(err == nil && !t.IsZero(), "a time is missing or malformed")
	return t.UTC()
}

func (d *decoder) definitions(v doc.Value) {
	d.want(v.Kind() == doc.Object, "definitions has to be an object")
	for m := range v.Members() {
		if d.err != nil {
			return
		}
		d.want(len(m.Value.AppendJSON(nil)) <= sallyport.MaxPinned, "a definition is too large")
		digest := sallyport.DigestDefinition(m.Value)
		d.want(digest.String() == m.Name, "a definition is not the one that its digest stands for")
		d.defs[m.Name] = definition{Pinned: sallyport.Pinned{Digest: digest, Definition: m.Value}}
	}
}

func (d *decoder) set(v doc.Value) *Set {
	d.only(v, "id", "capabilities", "first", "pins", "waiting")
	s := &Set{ID: d.hex(v.Get("id")), Capabilities: d.texts(v.Get("capabilities"), maxNames, 64), First: d.time(v.Get("first"))}
	s.Pins = d.pins(v.Get("pins"), maxPins, First, Same, Accepted)
	s.Waiting = d.pins(v.Get("waiting"), maxWaiting, "")
	return s
}

func (d *decoder) pins(v doc.Value, most int, hows ...How) map[string]Pin {
	d.want(v.Kind() == doc.Object && v.Len() <= most, "pins and waiting have to be objects that are not too large")
	pins := make(map[string]Pin, v.Len())
	for m := range v.Members() {
		if d.err != nil {
			return pins
		}
		names := []string{"digest", "since"}
		if hows[0] != "" {
			names = append(names, "how")
		}
		d.only(m.Value, names...)
		d.want(m.Name != "" && len(m.Name) <= maxName, "a tool's name is missing or too long")
		digest := d.hex(m.Value.Get("digest"))
		def, ok := d.defs[digest]
		d.want(ok, "a pin has no definition")
		d.want(def.Definition.Get("name").String() == m.Name, "a pin has the definition of another tool")
		def.used = true
		if ok {
			d.defs[digest] = def
		}
		p := Pin{Pinned: def.Pinned, Since: d.time(m.Value.Get("since")), How: How(m.Value.Get("how").String())}
		d.want(slices.Contains(hows, p.How), "how has to be first, same or accepted")
		pins[m.Name] = p
	}
	return pins
}
