// Package identity answers: whose rights hold for an app, and which objects may it have at all?
//
// In: a service account by its namespace and name; a reach.
// Out: the account's user name; whether the reach covers a namespace.
// Promise: pure; an account without a name is truce itself, and is never the name of a user.
// Not here: which account and reach an app has (tenancy), impersonation (cluster).
package identity

import "strings"

// Account is the service account whose rights hold for an app. Its zero value is truce's own identity.
type Account struct{ Namespace, Name string }

// accountPrefix begins the user name of a service account.
const accountPrefix = "system:serviceaccount:"

// IsSelf reports whether requests for the app are made as truce itself.
func (a Account) IsSelf() bool { return a == Account{} }

// User is the name by which the API server knows the account; empty for truce itself.
func (a Account) User() string {
	if a.IsSelf() {
		return ""
	}
	return accountPrefix + a.Namespace + ":" + a.Name
}

// Groups are those that the API server knows the account in; none for truce itself.
func (a Account) Groups() []string {
	if a.IsSelf() {
		return nil
	}
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + a.Namespace, "system:authenticated"}
}

// AccountOf returns the service account that a user name stands for; ok is false for other users.
func AccountOf(user string) (account Account, ok bool) {
	rest, ok := strings.CutPrefix(user, accountPrefix)
	if !ok {
		return Account{}, false
	}
	namespace, name, ok := strings.Cut(rest, ":")
	if !ok || namespace == "" || name == "" || strings.Contains(name, ":") {
		return Account{}, false
	}
	return Account{namespace, name}, true
}

// NamespaceReach says which objects an app may have, whatever its account may do.
type NamespaceReach string

// The values of NamespaceReach.
const (
	All        NamespaceReach = ""           // every object
	Namespaced NamespaceReach = "namespaced" // objects that are in a namespace
	Own        NamespaceReach = "own"        // objects in the namespace of the app's custom resource
)

// Covers reports whether the reach of an app in a namespace covers objects in another one; "" stands for cluster-scoped objects.
func (r NamespaceReach) Covers(home, namespace string) bool {
	switch r {
	case All:
		return true
	case Namespaced:
		return namespace != ""
	case Own:
		return namespace != "" && namespace == home
	}
	return false
}
