/** The calendar day of a moment on this machine's own clock: `2026-11-15`. */
export function dayOf(time: number): string {
  const date = new Date(time)
  const two = (part: number) => String(part).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** The first moment of the next one. A day may have 23 or 25 hours, so it is asked of the calendar. */
export function nextDay(time: number): number {
  const date = new Date(time)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + 1).getTime()
}
