package etcd

import (
	"io"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger writes etcd's warnings and errors. A fatal entry panics with its
// message instead of ending the process: the parent process reports the cause.
func newLogger(w io.Writer, last *lastError) *zap.Logger {
	format := zap.NewProductionEncoderConfig()
	format.EncodeTime = zapcore.RFC3339TimeEncoder
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(format), zapcore.Lock(zapcore.AddSync(w)), zapcore.WarnLevel)
	return zap.New(zapcore.NewTee(core, last), zap.WithFatalHook(panicHook{}))
}

type panicHook struct{}

func (panicHook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	panic(messageWithCause(entry.Message, fields))
}

// messageWithCause is a message with its cause, if a field holds one.
func messageWithCause(message string, fields []zapcore.Field) string {
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok {
			return message + ": " + err.Error()
		}
	}
	return message
}

// lastError is a core that remembers the last error that was logged. Where
// etcd fails to start, it often trips over its own clean-up, and the cause is
// in its log only. It is safe for concurrent use.
type lastError struct {
	mu  sync.Mutex
	say string
}

func (l *lastError) Enabled(level zapcore.Level) bool  { return level >= zapcore.ErrorLevel }
func (l *lastError) With([]zapcore.Field) zapcore.Core { return l }
func (l *lastError) Sync() error                       { return nil }
func (l *lastError) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if l.Enabled(e.Level) {
		return c.AddCore(e, l)
	}
	return c
}

func (l *lastError) Write(e zapcore.Entry, fields []zapcore.Field) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say = messageWithCause(e.Message, fields)
	return nil
}

// or is what was logged, or else the other.
func (l *lastError) or(other string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.say != "" {
		return l.say
	}
	return other
}
