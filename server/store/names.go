package store

import (
	"context"
	"errors"
	"strings"

	"github.com/teammem/teammemd/api"
)

// ErrNameTaken says that a name cannot be given to a repository: data that
// belongs to no repository, or to another, has it.
var ErrNameTaken = errors.New("name is taken by other data")

// ErrRenamed says that a repo was given another name meanwhile: [Names.Resolve]
// says which. Nothing was changed.
var ErrRenamed = errors.New("the repo has another name now")

// Names ties the names of repos to repositories of a forge, so that a rename or
// transfer there keeps the memory, and a new repository under an old name does
// not get the memory of the one before.
type Names interface {
	// Resolve returns the name under which data is kept that name stands for: name
	// itself, or what it was renamed to. An unknown name resolves to itself. The
	// other methods of a store do not resolve: nothing is kept under a name that was
	// given up, and writing to it is [ErrRenamed].
	Resolve(ctx context.Context, name api.Repo) (api.Repo, error)
	// Bind says that name is now the repository with this identity, such as
	// "github.com#1296269", and returns the name under which its data is kept
	// from now on, which is name:
	//   - neither is known, or name's data belongs to no repository: they are tied;
	//   - the identity has data under an older name: that data gets the new name, and
	//     the older name resolves to it (until another repository takes it);
	//   - name belongs to another identity: that one's data moves aside, to
	//     [Orphan]'s name, and name begins empty;
	//   - both have data that cannot be joined (name's belongs to no repository):
	//     [ErrNameTaken], nothing is changed.
	// Binding what is bound already is cheap and changes nothing. Heads, policies,
	// marks and audit rows follow the data; each move adds an audit row to its
	// chain. So do memberships, join codes and tokens for that repo alone, with those
	// of a name that stood for it: who takes a name inherits nobody. Patterns with
	// stars are about names and stay. A name without a version, policy entry, marks
	// or audit row has no data.
	Bind(ctx context.Context, name api.Repo, identity string) (api.Repo, error)
	// Identity returns the identity that name's data belongs to, "" for none.
	Identity(ctx context.Context, name api.Repo) (string, error)
}

// Orphan is the name that data gets whose repository lost its name to another:
// nobody's repository can be called so.
func Orphan(identity string) (api.Repo, error) {
	host, id, _ := strings.Cut(identity, "#")
	return api.ParseRepo("orphaned.invalid/" + host + "/" + id)
}
