import { AppError } from '../../base/errors.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { Floor } from '../floor.ts'
import { INTERRUPTED } from '../recover/recover.ts'
import { CUT_OFF } from '../settling/cut-off.ts'
import { couldNotGoOn } from './could-not-go-on.ts'
import { putOff } from './put-off.ts'

export interface Waking {
  env: Record<string, string>
  /** Why nothing may start now, if so. */
  mayStart: (() => string | undefined) | undefined
  resume(reason: string): Promise<unknown>
}

/** Its time has come. What stands in the way is written into its row, so that it is not tried again and again. */
export async function wake(row: SessionRow, { env, mayStart, resume }: Waking, floor: Floor): Promise<void> {
  const isTaken = () => floor.live.get(row.id) !== undefined
  // It stays due, and is looked at again in seconds: nothing is written to a disk that is full.
  if (isTaken() || mayStart?.() !== undefined) return
  try {
    // Imported on use: most sessions have one agent.
    const { reconsider } = await import('../failover/failover.ts')
    const now = await reconsider(row, env, floor)
    if (await putOff(now, env, floor)) return
    if (isTaken()) return // a person was quicker; nobody else who waits waits for that
    await resume(whyNow(row))
  } catch (error) {
    if (error instanceof AppError && error.code === 'daemon_stopping') return
    floor.log.warn({ session: row.id, error }, 'could not go on by itself')
    await couldNotGoOn(row, error, floor.parts)
  }
}

function whyNow(row: SessionRow): string {
  if (wasCutOff(row)) return 'the daemon is back'
  return row.options.landing?.told === undefined ? 'its time has come' : 'its work was sent back to it'
}

/** It waited for nothing but for a daemon. */
function wasCutOff({ status_reason }: SessionRow): boolean {
  return status_reason === CUT_OFF || status_reason === INTERRUPTED
}
