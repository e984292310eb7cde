package server_test

import (
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/auth"
)

func allowRetire(patterns ...string) func(*server.Options) {
	return func(o *server.Options) {
		p, err := auth.NewPolicy(patterns...)
		if err != nil {
			panic(err)
		}
		o.Policy = p
	}
}
