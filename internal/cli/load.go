package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/clientconfig"
	"github.com/sallyport-dev/sallyport/internal/config"
)

// source is the text of a configuration or a contracts file. The zero source is none.
type source struct {
	name string // for messages
	data []byte
	err  error // why there is no text
}

// fileSource reads a file; "" is none.
func fileSource(name string) source {
	if name == "" {
		return source{}
	}
	data, err := config.ReadFile(name)
	return source{name, data, err}
}

// loadFiles reads a configuration and a contracts file; either name may be "". The
// error joins what is wrong with both. The result is checked as a whole, and f is nil
// without a contracts file.
func loadFiles(opt config.Options, configFile, contractsFile string) (c *config.Config, f *config.ContractsFile, err error) {
	return loadSources(opt, fileSource(configFile), fileSource(contractsFile))
}

// loadSources is [loadFiles] for texts, wherever they are from.
func loadSources(opt config.Options, configText, contractsText source) (c *config.Config, f *config.ContractsFile, err error) {
	c = config.Default()
	var errs []error
	if configText.name != "" {
		err := configText.err
		if err == nil {
			c, err = config.Load(configText.name, configText.data, opt)
		}
		errs = append(errs, err)
	}
	if contractsText.name != "" {
		err := contractsText.err
		if err == nil {
			f, err = config.LoadContracts(contractsText.name, contractsText.data, opt)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	if f != nil {
		if err := c.AddContracts(f); err != nil {
			return nil, nil, err
		}
	}
	layered := opt.Contracts
	layered.Packs = c.Packs
	if _, err := contract.NewSet(c.Contracts, layered); err != nil {
		return nil, nil, err
	}
	return c, f, nil
}

// loadOptions are those of this process and system.
func loadOptions() config.Options {
	opt := config.Options{Lookup: os.LookupEnv}
	opt.Contracts.Clients.Names = clientconfig.ProjectNames()
	switch runtime.GOOS {
	case "darwin":
		opt.Contracts.Style = confine.Darwin
	case "windows":
		opt.Contracts.Style = confine.Windows
	default:
		opt.Contracts.Style = confine.POSIX
	}
	return opt
}

// defaultConfigFile is the configuration in the user's own configuration directory, ""
// if there is none. The working directory is never looked at: an agent may write it.
func defaultConfigFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", nil // no home, so no file
	}
	file := filepath.Join(dir, "sallyport", "sallyport.yaml")
	switch _, err := os.Lstat(file); {
	case err == nil:
		return file, nil
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	default:
		// A file that cannot be looked at may hold rules: going on without them would
		// allow what they deny.
		return "", failed(fmt.Errorf("the configuration %s cannot be read: %w", file, err))
	}
}
