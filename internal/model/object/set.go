package object

// Set is a group of objects, at most one of each ID.
type Set map[ID]Object
