-- Which checkouts sync with a repo, for whoever asks where a content went. Who
-- they are is the actor's to say, so that erasing a person covers it.
CREATE TABLE devices (
  repo       INTEGER NOT NULL,
  id         BLOB NOT NULL,
  actor      INTEGER NOT NULL,
  nameless   INTEGER NOT NULL,
  first_ms   INTEGER NOT NULL,
  seen_ms    INTEGER NOT NULL,
  epoch      TEXT NOT NULL,
  pulled     INTEGER NOT NULL,
  cleaned    INTEGER NOT NULL,
  cleaned_ms INTEGER NOT NULL,
  PRIMARY KEY (repo, id)
) STRICT, WITHOUT ROWID;
