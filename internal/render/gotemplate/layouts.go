package gotemplate

import (
	"fmt"
	"slices"
	"text/template/parse"
)

// longestLayout is how long a layout may be by which a time is written.
const longestLayout = 256

// checkLayouts refuses a time that is written by a layout which is not short: methods of values are no functions, and are not given a bounded amount.
func checkLayouts(n parse.Node) error {
	for _, next := range childrenOf(n) {
		if err := checkLayouts(next); err != nil {
			return err
		}
	}
	pipe, is := n.(*parse.PipeNode)
	if !is {
		return nil
	}
	for i, c := range pipe.Cmds {
		method := lastIdent(c.Args[0])
		given := len(c.Args) > 1 || i > 0 // else it is a field
		if given && (method == "Format" || method == "AppendFormat") && (len(c.Args) != 2 || i > 0 || !isLayout(c.Args[1])) {
			return fmt.Errorf("%s: want a layout of at most %d bytes that stands there, or one of .time", method, longestLayout)
		}
	}
	return nil
}

// isLayout reports whether a node is a short text, or a value of .time.
func isLayout(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.StringNode:
		return len(n.Text) <= longestLayout
	case *parse.FieldNode:
		return len(n.Ident) == 2 && n.Ident[0] == "time"
	case *parse.VariableNode:
		return len(n.Ident) == 3 && n.Ident[0] == "$" && n.Ident[1] == "time"
	}
	return false
}

// lastIdent is the method that a node may name; empty for none.
func lastIdent(n parse.Node) string {
	var names []string
	switch n := n.(type) {
	case *parse.FieldNode:
		names = n.Ident
	case *parse.VariableNode:
		names = n.Ident[1:]
	case *parse.ChainNode:
		names = n.Field
	}
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}

// childrenOf are the nodes below one.
func childrenOf(n parse.Node) []parse.Node {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			return n.Nodes
		}
	case *parse.ActionNode:
		return []parse.Node{n.Pipe}
	case *parse.IfNode:
		return []parse.Node{n.Pipe, n.List, n.ElseList}
	case *parse.WithNode:
		return []parse.Node{n.Pipe, n.List, n.ElseList}
	case *parse.RangeNode:
		return []parse.Node{n.Pipe, n.List, n.ElseList}
	case *parse.PipeNode:
		out := make([]parse.Node, len(n.Cmds))
		for i, c := range n.Cmds {
			out[i] = c
		}
		return out
	case *parse.CommandNode:
		return slices.Clone(n.Args)
	case *parse.ChainNode:
		return []parse.Node{n.Node}
	}
	return nil
}
