/** Reasons not to begin that go away without anybody's doing. */
export const PASSING: ReadonlySet<string> = new Set(['disk_full', 'line_full', 'daemon_stopping', 'place_busy'])
