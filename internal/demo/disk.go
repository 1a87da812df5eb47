package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// prepare makes the directory of one run of s, with the story's first state.
func (s story) prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return s.lay(dir)
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func writeJSON(dir, name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), append(b, '\n'), 0o600)
}

func readJSON[T any](dir, name string) (T, error) {
	var v T
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		return v, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// writeNext puts v beside what folder holds, under the next number.
func writeNext(dir, folder string, v any) error {
	held, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil {
		return err
	}
	return writeJSON(dir, filepath.Join(folder, fmt.Sprintf("%03d.json", len(held)+1)), v)
}

// readAll reads what writeNext has put into folder, in order.
func readAll[T any](dir, folder string) ([]T, error) {
	held, err := os.ReadDir(filepath.Join(dir, folder))
	all := make([]T, 0, len(held))
	for _, e := range held {
		v, err := readJSON[T](dir, filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, err
}

// writeAnywhere writes wherever it is told to, like many file tools, but through an
// [os.Root]: the story must not be able to touch the real home directory.
func writeAnywhere(dir, path, content string) error {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(rel), 0o700); err != nil {
		return err
	}
	return root.WriteFile(rel, []byte(content), 0o600)
}
