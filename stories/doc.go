// Package stories answers: does truce do what its users were promised, on a real API server?
//
// In: the whole engine, a real git repository, the sandbox with its real controllers.
// Out: tests that read as the stories in the issue and in the requirement documents.
// Promise: what is asserted was seen by an independent watch or stands in the API server's audit log; nothing of truce's own
// memory is believed.
// Not here: single packages (their own tests), whole commands (testdata/script).
package stories
