import type { RunDetail } from '../../domain/runs/run-view.ts'
import type { Connection } from '../connection/connection.ts'
import { RemoteError } from '../report.ts'

/** What can be the id of a run, or the beginning of one. */
const RUN_ID = /^r-[0-9a-f]{1,6}$/i

/** The run that a person means where a session may be meant too; nothing where there is none of that id. */
export async function runNamed(
  ref: string,
  client: Pick<Connection, 'request'>,
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
