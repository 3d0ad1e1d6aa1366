import { AppError } from '../../base/errors.ts'
import { record } from '../record.ts'
import type { Desk } from '../run.ts'

/** A person takes the terminal of an agent, or gives it back; done twice it changes nothing. */
export async function handOver({ run, parts }: Desk, how: 'takeover' | 'handback'): Promise<void> {
  const { session } = run
  if (!session?.takeover || !session.handback) {
    throw new AppError('not_in_terminal', { id: run.id, problem: 'its agent does not run in a terminal' })
  }
  const isTaken = session.takenOver === true
  if (isTaken === (how === 'takeover')) return
  const body = { text: SAID[how](run.id) }
  // The one is told before it is so, and the other once it is: it may be refused.
  if (how === 'handback') await session.handback()
  await record(run, parts, { events: [{ actor: 'human', subject: run.id, kind: 'session.noted', body }], patch: {} })
  if (how === 'takeover') await session.takeover()
}

const SAID = {
  takeover: (id: string) =>
    `A person has taken the terminal: pcc types nothing and answers no question until pcc handback ${id}. Calls are judged as before.`,
  handback: () => 'The person has given the terminal back.',
}
