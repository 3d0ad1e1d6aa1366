/** Where a session is asked for by what a person typed for it. What cannot be a name is refused here: it would be another address. */
export async function sessionPath(ref: string): Promise<string> {
  if (/^[\s.]*$/.test(ref)) {
    const { AppError } = await import('../../base/errors.ts')
    throw new AppError('session_unknown', { ref })
  }
  return `/sessions/${encodeURIComponent(ref)}`
}
