package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// ReadFile reads a regular file of at most [strictyaml.MaxSize] bytes. Symbolic links
// are followed. The error is safe to show and names the file.
func ReadFile(path string) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		return nil, fmt.Errorf("%s: %w", quote.Text(path, 1000), err)
	}
	// Looking first keeps a pipe from blocking the open.
	info, err := os.Stat(path)
	if err != nil {
		return fail(err)
	}
	if !info.Mode().IsRegular() {
		return fail(errors.New("not a regular file"))
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return fail(err)
	}
	if !info.Mode().IsRegular() {
		return fail(errors.New("not a regular file"))
	}
	data, err := io.ReadAll(io.LimitReader(f, strictyaml.MaxSize+1))
	if err != nil {
		return fail(err)
	}
	if len(data) > strictyaml.MaxSize {
		return fail(fmt.Errorf("more than %d bytes", strictyaml.MaxSize))
	}
	return data, nil
}
