import { crashPoint } from '../../base/crash-point.ts'
import { AppError } from '../../base/errors.ts'
import { secretId } from '../../base/ids.ts'
import type { AnsweredEscalation, EscalationAnswer } from '../../domain/escalation.ts'
import type { NewEvent } from '../../domain/event.ts'
import { lateAnswer } from '../../human/late-answer.ts'
import type { Parked, SessionRow } from '../../store/tables.ts'
import { givenAnswer } from '../asks/given-answer.ts'
import { type Floor, prepareAgain, refuseWhenClosed, refuseWithstood } from '../floor.ts'
import { refuseUnheld } from '../start/agent/refuse-unheld.ts'
import type { Start } from '../start/new-run.ts'
import { claimParked } from './claim-parked.ts'
import { toldInWords } from './in-words.ts'
import { hasConversation, type Restore, type Restored, restore } from './restore.ts'

/** What a parked session goes on with. */
export interface Resumption {
  said: EscalationAnswer
  /** It is settled already. */
  settled?: boolean
  env: Record<string, string>
}

/**
 * Starts a parked session again; the call that waited gets the answer, and the decision is settled by it. An answer that
 * settled it before (in an earlier life of the daemon, or before a limit) is only brought to the agent.
 */
export async function resumeParked(
  row: SessionRow,
  { said, settled, env }: Resumption,
  floor: Floor,
): Promise<AnsweredEscalation | undefined> {
  const { parked, vendor_id: vendorId } = row
  if (!parked || vendorId === null) throw new AppError('ask_unknown', { id: row.id, ask: parked?.ask_id ?? '' })
  const { store, clock } = floor.parts
  const ready = await prepareAgain(row, env, floor)
  if (!floor.parts.terminals.isAttached(row.id)) refuseUnheld(ready)
  const lost = await whereLost({ row, driver: ready.driver, env: ready.open.env, manifest: ready.manifest }, floor)
  await free(row.id, parked, floor)
  await refuseWithstood(row.id, floor)
  refuseWhenClosed(floor)
  // From here to `launch` nothing is awaited before the session counts as live. What happened to the row while this was
  // prepared (another answer, a stop) is seen by `claimParked`.
  const resume = lost ? undefined : { vendorId, fork: false }
  using _held = floor.conversations.take(resume, floor.live.runs())
  const patch = { ...takenUp(floor, ready.account), ...(lost && { parked: { ...parked, taken: true as const } }) }
  const { events = [], ...start } = startWith({ parked: patch.parked ?? parked, said, lost }, row.id)
  const claim = () => claimParked({ store, clock }, { id: row.id, parked, said: settled ? undefined : said, patch })
  const answered = await floor.live.launch({ ...row, ...patch }, ready, { ...start, resume, claim }).saved
  crashPoint('answer.after-settle')
  await store.append(events)
  return answered
}

interface Answering {
  parked: Parked
  said: EscalationAnswer
  /** Where the conversation is gone: what a new one is told of it. */
  lost: Restored | undefined
}

/** The call that waits gets the answer; where there is no such call any more it is told in words. */
function startWith({ parked, said, lost }: Answering, session: string): Start & { events?: NewEvent[] } {
  if (!parked.taken) return { answer: givenAnswer(parked, said) }
  const { prompt, events, ...told } = toldInWords(parked, said, session)
  if (!lost) return { prompt, events, ...told }
  const notes = lost.notes.map(text => ({
    ...{ actor: 'daemon', subject: session, kind: 'session.noted' as const, body: { text } },
  }))
  return { ...told, prompt: `${lost.prompt}\n\n${prompt}`, events: [...notes, ...events] }
}

/** An agent's record of a conversation may be gone, or damaged: then nothing waits in it. */
async function whereLost(what: Restore, floor: Floor): Promise<Restored | undefined> {
  return (await hasConversation(what)) ? undefined : restore(what, floor.parts)
}

/** The row of a session that this daemon takes up. */
export function takenUp({ bootId }: Floor, account: string): Partial<SessionRow> {
  return {
    state: 'starting',
    owner: bootId,
    ended_as: null,
    ended_at: null,
    status_reason: null,
    resumes_at: null,
    intent: null,
    account,
    marker: secretId(16),
  }
}

/** Resolves when the session is not live: its agent has left, or whoever wanted to take it up did not get it. */
async function free(id: string, { ask_id, number }: Parked, { live, parts }: Floor): Promise<void> {
  for (let held = live.get(id); held; held = live.get(id)) {
    const taken =
      held.run.row.state !== 'ended' &&
      (await held.saved.then(
        () => true,
        () => false,
      ))
    if (taken) {
      const escalation = number === undefined ? undefined : await parts.store.escalations.get(number)
      throw escalation ? lateAnswer(escalation) : new AppError('ask_unknown', { id, ask: ask_id })
    }
    await held.done
  }
}
