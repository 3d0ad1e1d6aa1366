/** Loaded into a daemon before anything else: its clock runs a minute per second. Timers are not changed. */
const now = Date.now
const start = now()

Date.now = () => start + (now() - start) * 60
