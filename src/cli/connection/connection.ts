import type { StoredEvent } from '../../domain/event.ts'
import type { RunDetail } from '../../domain/run.ts'

/** A connection to the daemon. Error replies are thrown with the daemon's own message. */
export interface DaemonConnection {
  request<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T>
  /** Follows the event stream until the daemon closes it or the signal is aborted. */
  stream(path: string, options: { after: number; signal: AbortSignal }): AsyncIterable<StoredEvent>
}

/**
 * The API path of a session, by the id or name that a person typed. A reference of only dots or spaces is rejected here,
 * because it would address another path.
 */
export async function sessionPath(ref: string): Promise<string> {
  if (/^[\s.]*$/.test(ref)) {
    const { AppError } = await import('../../base/errors.ts')
    throw new AppError('session_unknown', { ref })
  }
  return `/sessions/${encodeURIComponent(ref)}`
}

/** The id of a run, or the beginning of one. Without its letter it may also be that of a session or a task: the daemon tells. */
const RUN_ID = /^(r-)?[0-9a-f]{1,6}$/i

/** Finds a run where the reference may also mean a session; `undefined` when no run has that id. */
export async function findRun(
  ref: string,
  client: Pick<DaemonConnection, 'request'>,
  query = '',
): Promise<RunDetail | undefined> {
  if (!RUN_ID.test(ref)) return undefined
  try {
    return await client.request<RunDetail>('GET', `/runs/${ref.toLowerCase()}${query}`)
  } catch (error) {
    // A session may have this as its name.
    if ((error as { code?: string }).code === 'run_unknown') return undefined
    throw error
  }
}

/** The API path of a feature. */
export function featurePath({ project, name }: { project: string; name: string }, verb?: string): string {
  const path = `/features/${encodeURIComponent(name)}`
  return verb === undefined ? `${path}?project=${encodeURIComponent(project)}` : `${path}/${verb}`
}
