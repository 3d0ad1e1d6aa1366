import { messageOf } from '../../base/errors.ts'
import type { Escalation } from '../../domain/escalation.ts'
import type { SessionRow } from '../../store/tables.ts'
import { escalationsOf } from '../routes/escalations-of.ts'
import type { World } from '../world.ts'

/**
 * Brings answers to sessions that an earlier daemon had settled and died before the agent heard of them. Where a session
 * cannot go on in the daemon's own environment (its login came from a shell) the decision waits for the person again, so
 * that they hear of it.
 */
export async function deliverAnswers(world: World): Promise<void> {
  for (const row of await world.store.sessions.list()) {
    // One that waits for a time, or that a person paused, is brought its answer when it goes on.
    const isDue = row.state === 'ended' && !STANDS_STILL.has(row.ended_as) && row.resumes_at === null
    const number = isDue ? row.parked?.number : undefined
    if (number === undefined) continue
    const settled = await world.store.escalations.get(number)
    if (settled?.state === 'answered') await deliver(row, settled, world)
  }
}

/** Only a person makes these go on. */
const STANDS_STILL = new Set<SessionRow['ended_as']>(['paused', 'rate_limited'])

async function deliver(row: SessionRow, settled: Escalation, world: World): Promise<void> {
  const { number, verdict, answer, answered_by, answer_reason } = settled
  const said = {
    by: answered_by ?? 'human',
    verdict: verdict ?? undefined,
    answer: answer ?? undefined,
    reason: answer_reason ?? undefined,
  }
  try {
    await world.supervisor.resumeParked(row, { said, settled: true, env: world.supervisor.envOf(row.id) })
    world.log.info({ number, session: row.id }, 'answer of an earlier daemon delivered')
  } catch (error) {
    if (world.stopping.aborted) return // the next daemon tries again
    world.log.warn({ number, session: row.id, error }, 'answer of an earlier daemon could not be delivered')
    await askAgain(row.id, number, { world, why: messageOf(error) })
  }
}

async function askAgain(id: string, number: number, { world, why }: { world: World; why: string }): Promise<void> {
  await world.store.transaction(async tx => {
    const now = await world.store.sessions.get(id, tx)
    if (now?.state !== 'ended' || now.parked?.number !== number) return // it was stopped or goes on
    const again = await escalationsOf(world).reopen(number, tx, id)
    await world.store.sessions.update(id, { parked: { ...now.parked, number: again } }, tx)
    const text = `The daemon died before the answer to decision ${number} reached the agent, so it is asked again: ${why}`
    await tx.append([{ actor: 'daemon', subject: id, kind: 'session.noted', body: { text } }])
  })
}
