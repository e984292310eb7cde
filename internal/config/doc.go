// Package config is what a user or an operator tells the program: the files,
// the environment, the registered roots and the stored tokens, and where all of
// them lie.
//
// It promises one precedence, flag before environment before file before
// default; that an unknown key is an error; that all problems are reported
// together, each with its file and line; and that no token appears in an error
// or in what is shown. It keeps nothing in package variables: the environment
// is handed in and read when asked.
//
//	paths, err := config.FindPaths(os.Getenv)
//	client, err := config.LoadClient(config.Input{File: paths.ConfigFile, Getenv: os.Getenv})
//	roots, err := config.LoadRoots(paths)
package config
