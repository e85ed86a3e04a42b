// Package cel answers: is an expression of the Common Expression Language true of an object?
//
// In: an expression; later the objects by their names, as decoded JSON.
// Out: an Expression, or why it is none; true or false, or why that cannot be said.
// Promise: pure; nothing panics; an evaluation that costs more than Kubernetes grants one is an error; the functions are those that
// Flux's expressions have (strings, sets, encoders, optional values), so that an expression means the same here and there.
// Not here: what an expression is asked about, and what follows from its answer (dialect/flux, decide/health/custom).
package cel

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
)

// Expression is one that can be evaluated, many times and concurrently. Its zero value is no expression, and true of nothing.
type Expression struct {
	text    string
	program cel.Program
}

// costLimit is what the API server grants one evaluation (PerCallLimit of k8s.io/apiserver).
const costLimit = 1_000_000

// maxLength is the longest expression, in bytes.
const maxLength = 16 << 10

// baseEnvironment is what all expressions share. It is made when the first one is read.
var baseEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders(),
	)
})

// The two objects that a compiled expression is about.
const (
	Self = "self"
	Dep  = "dep" // that self depends on
)

// pairEnvironment is that of an expression over Self and Dep.
var pairEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	base, err := baseEnvironment()
	if err != nil {
		return nil, err
	}
	kind := cel.MapType(cel.StringType, cel.DynType)
	return base.Extend(cel.Variable(Self, kind), cel.Variable(Dep, kind))
})

// The custom resource and the body of a webhook that a filter is about.
const (
	Resource = "res"
	Body     = "req"
)

// filterEnvironment is that of an expression over Resource and Body.
var filterEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	base, err := baseEnvironment()
	if err != nil {
		return nil, err
	}
	return base.Extend(cel.Variable(Resource, cel.MapType(cel.StringType, cel.DynType)), cel.Variable(Body, cel.DynType))
})

// The claims of the token of a webhook's sender, and the values that were made of them.
const (
	Claims = "claims"
	Vars   = "vars"
)

// claimFilterEnvironment is filterEnvironment with Claims.
var claimFilterEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	base, err := filterEnvironment()
	if err != nil {
		return nil, err
	}
	return base.Extend(cel.Variable(Claims, cel.MapType(cel.StringType, cel.DynType)))
})

// claimEnvironment is that of an expression over Claims and Vars.
var claimEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	base, err := baseEnvironment()
	if err != nil {
		return nil, err
	}
	kind := cel.MapType(cel.StringType, cel.DynType)
	return base.Extend(cel.Variable(Claims, kind), cel.Variable(Vars, kind))
})

// Compile reads an expression over Self and Dep. One that names something else, or that is no condition, is an error.
func Compile(text string) (Expression, error) {
	return remember("pair "+text, text, pairEnvironment, func(env *cel.Env) (cel.Program, error) { return compileCondition(env, text) })
}

// CompileFilter reads an expression over Resource and Body, as Compile does.
func CompileFilter(text string) (Expression, error) {
	return remember("filter "+text, text, filterEnvironment, func(env *cel.Env) (cel.Program, error) { return compileCondition(env, text) })
}

// CompileClaimFilter reads an expression over Resource, Body and Claims, as Compile does.
func CompileClaimFilter(text string) (Expression, error) {
	return remember("claim filter "+text, text, claimFilterEnvironment, func(env *cel.Env) (cel.Program, error) { return compileCondition(env, text) })
}

// CompileClaim reads an expression over Claims and Vars, as Compile does.
func CompileClaim(text string) (Expression, error) {
	return remember("claim "+text, text, claimEnvironment, func(env *cel.Env) (cel.Program, error) { return compileCondition(env, text) })
}

// CompileVariable reads an expression over Claims and Vars whose value may be anything.
func CompileVariable(text string) (Expression, error) {
	return remember("variable "+text, text, claimEnvironment, func(env *cel.Env) (cel.Program, error) {
		ast, issues := env.Compile(text)
		return programOf(env, ast, issues.Err())
	})
}

func compileCondition(env *cel.Env, text string, options ...cel.ProgramOption) (cel.Program, error) {
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("want a condition, which is true or false; this is of the type %s", out)
	}
	return programOf(env, ast, nil, options...)
}

// programOf is what evaluates an expression that was read, unless reading it has failed.
func programOf(env *cel.Env, ast *cel.Ast, err error, options ...cel.ProgramOption) (cel.Program, error) {
	if err != nil {
		return nil, err
	}
	return env.Program(ast, append(options, cel.CostLimit(costLimit))...)
}

// Parse reads an expression over the fields of one object, such as status and metadata. Which fields there are shows when it is evaluated.
func Parse(text string) (Expression, error) {
	return remember("fields "+text, text, baseEnvironment, func(env *cel.Env) (cel.Program, error) {
		ast, issues := env.Parse(text)
		return programOf(env, ast, issues.Err())
	})
}

// memory holds what was read lately: a custom resource is read several times for each time that it is written, and reading an expression
// takes half a millisecond. It changes no answer.
type memory struct {
	mu    sync.Mutex
	known map[string]Expression
}

// mostKnown bounds the expressions in memory; with one more, all are forgotten.
const mostKnown = 1000

var expressions = memory{known: map[string]Expression{}}

// remember returns the expression from memory, or reads it.
func remember(key, text string, within func() (*cel.Env, error), parse func(*cel.Env) (cel.Program, error)) (Expression, error) {
	expressions.mu.Lock()
	e, ok := expressions.known[key]
	expressions.mu.Unlock()
	if ok {
		return e, nil
	}
	e, err := compileWithin(text, within, parse)
	if err != nil {
		return e, err
	}
	expressions.mu.Lock()
	defer expressions.mu.Unlock()
	if len(expressions.known) >= mostKnown {
		clear(expressions.known)
	}
	expressions.known[key] = e
	return e, nil
}

func compileWithin(text string, within func() (*cel.Env, error), parse func(*cel.Env) (cel.Program, error)) (e Expression, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			e, err = Expression{}, fmt.Errorf("the expression cannot be read: %v", cause)
		}
	}()
	switch {
	case strings.TrimSpace(text) == "":
		return Expression{}, errors.New("the expression is empty")
	case len(text) > maxLength:
		return Expression{}, fmt.Errorf("the expression has %d bytes; %d are the most", len(text), maxLength)
	}
	env, err := within()
	if err != nil {
		return Expression{}, err
	}
	program, err := parse(env)
	if err != nil {
		return Expression{}, errors.New(shortIssues(err))
	}
	return Expression{text, program}, nil
}

// shortIssues is the first thing that is wrong with an expression, in one line, with its place: the library draws the place below the text.
func shortIssues(err error) string {
	first, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return strings.Replace(strings.TrimPrefix(first, "ERROR: "), "<input>:", "line ", 1)
}

// IsZero reports whether there is no expression.
func (e Expression) IsZero() bool { return e.program == nil }

// String returns the expression as it was written.
func (e Expression) String() string { return e.text }

// Equal reports whether two expressions are written alike.
func (e Expression) Equal(other Expression) bool { return e.text == other.text }

// Value evaluates the expression over objects by their names; what it returns may be an object of another expression.
func (e Expression) Value(values map[string]any) (value any, err error) {
	if e.program == nil {
		return nil, errors.New("there is no expression")
	}
	defer func() {
		if cause := recover(); cause != nil {
			value, err = nil, fmt.Errorf("the expression cannot be evaluated: %v", cause)
		}
	}()
	out, _, err := e.program.Eval(values)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// IsTrue evaluates the expression over objects, or fields, by their names. It changes nothing that it is given.
func (e Expression) IsTrue(values map[string]any) (is bool, err error) {
	if e.program == nil {
		return false, errors.New("there is no expression")
	}
	defer func() {
		if cause := recover(); cause != nil {
			is, err = false, fmt.Errorf("the expression cannot be evaluated: %v", cause)
		}
	}()
	out, _, err := e.program.Eval(values)
	if err != nil {
		return false, err
	}
	answer, ok := out.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the expression is neither true nor false, but of the type %s", out.Type().TypeName())
	}
	return bool(answer), nil
}
