package git

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestBlobsAreKeptWhileSomebodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBlobCache(1 << 20)
		c.put("dir", "a", []byte("text"))
		for range 5 {
			<-time.After(idleTimeout - time.Second)
			if _, ok := c.get("dir", "a"); !ok {
				t.Fatal("it was let go while it was read")
			}
		}
		<-time.After(idleTimeout + time.Second)
		if _, ok := c.get("dir", "a"); ok || c.bytes != 0 {
			t.Errorf("it was kept though nobody read it; %d bytes", c.bytes)
		}
		c.put("dir", "a", []byte("text"))
		if _, ok := c.get("dir", "a"); !ok {
			t.Error("it is not kept again")
		}
		<-time.After(idleTimeout + time.Second) // no timer outlives the test
	})
}
