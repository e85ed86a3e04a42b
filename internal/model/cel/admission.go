package cel

import (
	"errors"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

// What a condition of admission is about. Who asks, and how, is never known here.
const (
	stored  = "object"
	before  = "oldObject" // null where there is none
	request = "request"
)

// admissionVariables are all that a condition of admission may name.
var admissionVariables = []string{stored, before, request, "params", "authorizer", "namespaceObject"}

// admissionEnvironment is that of a condition of admission. Kubernetes has more functions than this one: a condition that calls such a function is none here.
var admissionEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	base, err := baseEnvironment()
	if err != nil {
		return nil, err
	}
	var all []cel.EnvOption
	for _, name := range admissionVariables {
		all = append(all, cel.Variable(name, cel.DynType))
	}
	return base.Extend(all...)
})

// CompileAdmission reads a condition of admission configuration (matchConditions), as Compile does.
func CompileAdmission(text string) (Expression, error) {
	return remember("admission "+text, text, admissionEnvironment, func(env *cel.Env) (cel.Program, error) {
		return compileCondition(env, text, cel.EvalOptions(cel.OptPartialEval))
	})
}

// IsFalseOf reports whether a condition of admission is false of an object that is stored as it is, whatever else is unknown: the fields that known, of the
// request, lacks, and what was stored before, but for the operation CREATE. One that cannot be evaluated is not known to be false.
func (e Expression) IsFalseOf(object, known map[string]any) (is bool, err error) {
	if e.program == nil {
		return false, errors.New("there is no expression")
	}
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	values := map[string]any{stored: object, request: known}
	if known["operation"] == "CREATE" {
		values[before] = nil
	}
	vars, err := cel.PartialVars(values, unknownOf(values)...)
	if err != nil {
		return false, err
	}
	out, _, _ := e.program.Eval(vars) // an error is no answer
	answer, ok := out.(types.Bool)
	return ok && !bool(answer), nil
}

// requestFields are those of an AdmissionRequest.
var requestFields = []string{
	"uid", "kind", "resource", "subResource", "requestKind", "requestResource", "requestSubResource", "name", "namespace", "operation", "userInfo", "object",
	"oldObject", "dryRun", "options",
}

// unknownOf names what values lack.
func unknownOf(values map[string]any) []*interpreter.AttributePattern {
	var out []*interpreter.AttributePattern
	for _, name := range admissionVariables {
		if _, known := values[name]; !known {
			out = append(out, cel.AttributePattern(name))
		}
	}
	of, _ := values[request].(map[string]any)
	for _, name := range requestFields {
		if _, known := of[name]; !known {
			out = append(out, cel.AttributePattern(request).QualString(name))
		}
	}
	return out
}
