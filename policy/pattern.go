package policy

import (
	"fmt"

	"github.com/sallyport-dev/sallyport/doc"
)

// pattern compiles the operand of matches and not_matches.
func (o *Operation) pattern(v doc.Value) error {
	if v.Kind() != doc.String {
		return fmt.Errorf("takes a pattern in quotes, not %s", an(v.Kind()))
	}
	re, err := doc.CompilePattern(v.String())
	if err != nil {
		return err
	}
	o.operands, o.re = []doc.Value{v}, re
	return nil
}
