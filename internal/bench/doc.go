// Package bench measures on one machine what the documentation promises of a
// team: what is left of edits that two people make to the same files at once
// ([Survive]), and how long a write takes until a teammate sees it ([Latency]).
//
// It starts real processes: the program that it is given, as a server and two
// daemons, and where asked syncthing and unison as they are installed. One
// program is measured at a time. All of them listen on loopback alone, and have
// an environment in which every directory is below one temporary directory,
// teammemd-bench-*; of the caller's environment they get PATH and SYSTEMROOT.
// Nothing else is read or written.
//
// When a measurement returns, well, with an error or because its context ended,
// its processes have ended and its directory is gone. A caller that is killed
// leaves both behind.
//
// It prints nothing and judges no figure but one ([RaceResult.AsPromised]).
// Figures depend on what else the machine does meanwhile.
//
//	report, err := bench.Survive(ctx, bench.Options{
//		Program: program, TempDir: os.TempDir(), Debounce: 2 * time.Second,
//		Client: client, Progress: func(line string) { log.Info(line) },
//	}, bench.Race{Rounds: 1, Files: 40})
package bench
