-- Contents may be encrypted. data_key is the number of the repo's data key that
-- sealed has the content under, and content is '' then; 0 and NULL for one that is
-- plain.
ALTER TABLE bodies ADD COLUMN data_key INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bodies ADD COLUMN sealed BLOB;

-- Data keys, wrapped under the master key of this name. The one of the highest
-- number seals, from the repo's version since on. generation is that of the
-- rotation in which it was made.
CREATE TABLE data_keys (
  repo       INTEGER NOT NULL,
  number     INTEGER NOT NULL,
  since      INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  master     TEXT NOT NULL,
  wrapped    BLOB NOT NULL,
  PRIMARY KEY (repo, number)
) WITHOUT ROWID, STRICT;

-- One row: the generation of data keys that is wanted, and whether not all
-- contents have come to it yet.
CREATE TABLE data_rotation (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  generation INTEGER NOT NULL,
  under_way  INTEGER NOT NULL
) STRICT;
INSERT INTO data_rotation VALUES (1, 0, 0);
