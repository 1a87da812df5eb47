package pins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// maxOthers bounds how many other servers of one name are told of.
const maxOthers = 3

// another says that a server is seen for the first time under a name that another command or
// URL had: what it lists is trusted as a first list, and nobody saw the difference. "" if
// none had it.
func (b *Book) another() string {
	lead := fmt.Sprintf("the server %s is started or reached in another way than before: ", quote.Value(b.name, 64))
	all, err := b.store.All()
	if err != nil {
		return fmt.Sprintf("whether the server %s was started or reached in another way before is not known: other pins cannot be read", quote.Value(b.name, 64))
	}
	var was []string
	for _, f := range all {
		if f.ID != b.upstream.id && slices.Contains(f.Names, b.name) && len(f.Sets) > 0 {
			was = append(was, fmt.Sprintf("%s (id %s)", quote.Value(f.Shown, 200), f.ID[:shortID]))
		}
	}
	if len(was) == 0 {
		return ""
	}
	if more := len(was) - maxOthers; more > 0 {
		was = append(was[:maxOthers], fmt.Sprintf("%d more", more))
	}
	return lead + "it was " + strings.Join(was, ", ") + ", now it is " + quote.Value(b.upstream.shown, 200) +
		" (id " + b.upstream.Short() + "). Its tools are pinned as they are, and nobody was asked. If you did not change that, stop using it"
}
