/** Loaded into a daemon before anything else: its clock shows a minute for every second. Timers are not touched. */
const now = Date.now
const start = now()

Date.now = () => start + (now() - start) * 60
