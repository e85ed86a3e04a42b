package controller

// startOver forgets what is known of custom resources and objects: the API server's data went back to an older state. The watches list them
// again; each app runs again, and each status is written that is not there any more.
func (c *Controller) startOver() {
	c.Log.Warn("the API server's data went back to an older state: everything is listed and compared again, and the first run of each app prunes nothing")
	c.mu.Lock()
	for _, e := range c.appSet {
		e.version, e.wrote, e.said = 0, digest{}, nil
	}
	for _, e := range c.sourceSet {
		e.wrote = digest{}
	}
	c.mu.Unlock()
	c.Engine().StartOver()
}
