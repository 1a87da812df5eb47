package cli

import (
	"path/filepath"

	"github.com/sallyport-dev/sallyport/internal/clientconfig"
)

// clientFiles are the configurations of MCP clients, those that are not there yet too: a
// tool that could write one could take Sallyport away again, or have the client start what
// it likes. projects are directories of projects beside the working directory.
func clientFiles(projects ...string) []string {
	places := clientconfig.Here("")
	var files []string
	add := func() {
		for _, l := range places.Locations() {
			if filepath.IsAbs(l.Path) {
				files = append(files, filepath.Clean(l.Path))
			}
		}
	}
	add()
	for _, p := range projects {
		places = clientconfig.Places{Project: p}
		add()
	}
	return files
}
