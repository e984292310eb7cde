-- Which findings in a text people let pass, as the core writes it; '' for none.
ALTER TABLE entries ADD COLUMN allowed TEXT NOT NULL DEFAULT '';
ALTER TABLE versions ADD COLUMN allowed TEXT NOT NULL DEFAULT '';

-- What maintainers let pass. Rows are ended, never deleted. Times are
-- milliseconds, 0 = never; actors are JSON. The repo may not exist yet.
CREATE TABLE scan_policy (
  number     INTEGER PRIMARY KEY,
  repo       TEXT NOT NULL,
  id         TEXT NOT NULL,
  rule       TEXT NOT NULL,
  keys       TEXT NOT NULL,
  reason     TEXT NOT NULL,
  actor      TEXT NOT NULL,
  at_ms      INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  ended_ms   INTEGER NOT NULL DEFAULT 0,
  ended_by   TEXT NOT NULL DEFAULT '{}',
  UNIQUE (repo, id)
) STRICT;

-- What scanning a repo's live entries again has found; marks are JSON.
CREATE TABLE rescans (
  repo  TEXT PRIMARY KEY,
  rules TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  marks TEXT NOT NULL
) WITHOUT ROWID, STRICT;
