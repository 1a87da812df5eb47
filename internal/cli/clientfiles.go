package cli

import (
	"path/filepath"

	"github.com/sallyport-dev/sallyport/internal/clientconfig"
)

// clientFiles are the configurations of MCP clients, those that are not there yet too: a
// tool that could write one could take Sallyport away again, or have the client start what
// it likes. Those of a project are names too that no prefix holds, see loadOptions.
func clientFiles() []string {
	var files []string
	for _, l := range clientconfig.Here("").Locations() {
		if filepath.IsAbs(l.Path) {
			files = append(files, filepath.Clean(l.Path))
		}
	}
	return files
}
