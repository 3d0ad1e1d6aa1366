import type { StoredEvent } from '../../domain/event.ts'
import type { RunDetail } from '../../domain/run.ts'
import { RemoteError } from '../errors.ts'

/** What a command asks of the daemon. Errors it answers with are thrown with its own words. */
export interface DaemonConnection {
  request<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T>
  /** Follows the event stream until the daemon closes it or the signal is raised. */
  stream(path: string, options: { after: number; signal: AbortSignal }): AsyncIterable<StoredEvent>
}

/** Reads stored events from a server-sent stream; comments (heartbeats) are skipped. Ends quietly when aborted or cut. */
export async function* serverSentEvents(
  stream: AsyncIterable<Buffer | string>,
  signal: AbortSignal,
): AsyncGenerator<StoredEvent> {
  const decoder = new TextDecoder()
  let pending = ''
  try {
    for await (const chunk of stream) {
      pending += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
      const blocks = pending.split('\n\n')
      pending = blocks.pop() ?? ''
      for (const block of blocks) {
        const data = dataOf(block)
        if (data) yield JSON.parse(data) as StoredEvent
      }
    }
  } catch (error) {
    // A daemon that dies cuts the stream; whoever follows looks at the session next.
    if (!signal.aborted && (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error
  }
}

function dataOf(block: string): string {
  return block
    .split('\n')
    .filter(line => line.startsWith('data:'))
    .map(line => line.slice(5).trimStart())
    .join('\n')
}

/** Where a session is asked for by what a person typed for it. What cannot be a name is refused here: it would be another address. */
export async function sessionPath(ref: string): Promise<string> {
  if (/^[\s.]*$/.test(ref)) {
    const { AppError } = await import('../../base/errors.ts')
    throw new AppError('session_unknown', { ref })
  }
  return `/sessions/${encodeURIComponent(ref)}`
}

/** What can be the id of a run, or the beginning of one. */
const RUN_ID = /^r-[0-9a-f]{1,6}$/i

/** The run that a person means where a session may be meant too; nothing where there is none of that id. */
export async function findRun(
  ref: string,
  client: Pick<DaemonConnection, 'request'>,
  query = '',
): Promise<RunDetail | undefined> {
  if (!RUN_ID.test(ref)) return undefined
  try {
    return await client.request<RunDetail>('GET', `/runs/${ref.toLowerCase()}${query}`)
  } catch (error) {
    // Somebody may have called a session so.
    if (error instanceof RemoteError && error.code === 'run_unknown') return undefined
    throw error
  }
}

/** Where a feature is asked for. */
export function featurePath({ project, name }: { project: string; name: string }, verb?: string): string {
  const path = `/features/${encodeURIComponent(name)}`
  return verb === undefined ? `${path}?project=${encodeURIComponent(project)}` : `${path}/${verb}`
}
