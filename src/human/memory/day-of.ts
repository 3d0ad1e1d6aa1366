/** The day of an answer as a person remembers it: `12 Nov`, with the year where it is another one. */
export function dayOf(at: number, now: number): string {
  const [then, today] = [new Date(at), new Date(now)]
  const year = then.getFullYear() === today.getFullYear() ? {} : ({ year: 'numeric' } as const)
  return then.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...year })
}
