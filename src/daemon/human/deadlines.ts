import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../base/errors.ts'
import type { Escalation } from '../../domain/escalation.ts'
import { saidAtDeadline } from '../../human/deadline.ts'
import type { World } from '../world.ts'
import { answerOpen } from './answer-open.ts'

/** A row may be made with a nearer deadline, the clock may be set, the machine may have slept: it is looked this often. */
const LONGEST_SLEEP_MS = 15_000
const SHORTEST_SLEEP_MS = 100

/** Settles what nobody has answered by its deadline, until the daemon stops. The times stand in the rows. */
export async function keepDeadlines(world: World, now: () => number = Date.now): Promise<void> {
  const { stopping, store, log } = world
  while (!stopping.aborted) {
    let waitMs = LONGEST_SLEEP_MS
    try {
      const { rows, next } = await store.escalations.due(now())
      for (const row of rows) await settleLate(row, now(), world)
      if (next !== undefined) waitMs = next - now()
    } catch (error) {
      log.error({ error }, 'could not look for deadlines')
    }
    const sleepMs = Math.min(LONGEST_SLEEP_MS, Math.max(SHORTEST_SLEEP_MS, waitMs))
    await sleep(sleepMs, undefined, { signal: stopping, ref: false }).catch(() => undefined) // the daemon stops
  }
}

/** What cannot be settled so waits for a person: the deadline goes, so that it is not tried again and again. */
async function settleLate(row: Escalation, now: number, world: World): Promise<void> {
  const { number } = row
  const said = saidAtDeadline(row, now)
  try {
    if (said) {
      await answerOpen(number, { said, env: undefined }, world)
      world.log.info({ number, as: row.on_deadline }, 'deadline passed')
      return
    }
  } catch (error) {
    if (world.stopping.aborted || isForNow(error)) return
    world.log.warn({ number, error }, 'could not be settled at its deadline; it waits on')
  }
  await world.store.transaction(tx => world.store.escalations.dropDeadline(number, tx))
}

/** It is tried again with the next look. */
function isForNow(error: unknown): boolean {
  return error instanceof AppError && error.code === 'disk_full'
}
