package main

import (
	"github.com/spf13/cobra"
	"golang.org/x/time/rate"

	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/auth"
)

// systemServerConfig is read when it is there and no other file is named.
const systemServerConfig = "/etc/teammemd/server.toml"

// serverFlags are the flags that say which server is meant.
type serverFlags struct {
	listen, data, config string
}

// register adds the flags that every verb of the server has.
func (f *serverFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.data, "data", "", "directory of the database")
	cmd.Flags().StringVar(&f.config, "config", "", "configuration file (default "+systemServerConfig+" where it exists)")
}

// registerListen adds the flag of the verbs that need the address.
func (f *serverFlags) registerListen(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.listen, "listen", "", "address, host:port; port 0 picks a free one")
}

// load returns the effective configuration. Errors wrap [api.ErrConfig].
func (f *serverFlags) load(a *app) (config.Server, error) {
	in := config.Input{File: systemServerConfig, Getenv: a.getenv, Flags: map[string]string{}}
	if f.config != "" {
		in.File, in.Required = f.config, true
	}
	if f.listen != "" {
		in.Flags["listen"] = f.listen
	}
	if f.data != "" {
		in.Flags["data"] = f.data
	}
	effective, err := config.LoadServer(in)
	return effective.Config, err
}

// loadStore is load for verbs that need only to know where the data are. Where
// --data names the directory, the system's file is left alone: it may be another
// server's, or not readable for this user. The environment counts, as it does for
// the server.
func (f *serverFlags) loadStore(a *app) (config.Server, error) {
	if f.data == "" || f.config != "" {
		return f.load(a)
	}
	in := config.Input{Getenv: a.getenv, Flags: map[string]string{"data": f.data}}
	effective, err := config.LoadServer(in)
	return effective.Config, err
}

// checkExposure refuses an address that would carry tokens in the clear. The
// error wraps [api.ErrConfig].
func checkExposure(c config.Server) error {
	proxies, err := server.ParseProxies(c.TrustedProxies)
	if err != nil {
		return err
	}
	return server.CheckExposure(c.Listen, c.TLSCert != "", proxies)
}

// policyOf returns what the configuration allows beyond roles.
func policyOf(c config.Server) (auth.Policy, error) {
	if !c.WritersMayRetire {
		return auth.NewPolicy()
	}
	return auth.NewPolicy("*")
}

// rateOf returns a limit of so many a second; -1 is none.
func rateOf(perSecond int) float64 {
	if perSecond < 0 {
		return float64(rate.Inf)
	}
	return float64(perSecond)
}
