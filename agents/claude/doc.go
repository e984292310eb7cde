// Package claude knows where Claude Code keeps a project's memory.
//
// It promises to follow the agent's own order of rules as published, to read
// only the agent's settings, and to say which rule decided. It writes nothing,
// and it ignores what a repository's shared settings say about the directory:
// a hostile repository must not be able to point it at someone's keys.
//
//	place := claude.Place{Getenv: os.Getenv, Home: home, Root: root, CanonicalRoot: main}
//	loc, err := claude.MemoryDir(place)
//	fmt.Fprintln(w, loc.TeamDir(), loc.How)
package claude
