import type { Clock } from '../../base/clock.ts'
import { crashPoint } from '../../base/crash-point.ts'
import { AppError } from '../../base/errors.ts'
import { secretId } from '../../base/ids.ts'
import type { AnsweredEscalation, EscalationAnswer } from '../../domain/escalation.ts'
import type { NewEvent } from '../../domain/event.ts'
import type { Answer } from '../../domain/session.ts'
import { lateAnswerError, openEscalations } from '../../human/escalations.ts'
import type { Store } from '../../store/store.ts'
import type { Parked, ParkedPermission, ParkedQuestion, SessionRow } from '../../store/tables.ts'
import {
  prepareResumed,
  refuseUngatedAgent,
  refuseWhenClosed,
  refuseWithSurvivors,
  type SupervisorContext,
} from '../context.ts'
import { hasConversation, type RestoredSession, type RestoreRequest, restore } from './checkpoints.ts'
import type { SessionLaunch } from './live-sessions.ts'
import { answersByQuestion, givenAnswer, isPermission } from './tool-call.ts'

/** What a parked session goes on with. */
export interface ResumeParkedOptions {
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
  { said, settled, env }: ResumeParkedOptions,
  supervisor: SupervisorContext,
): Promise<AnsweredEscalation | undefined> {
  const { parked, vendor_id: vendorId } = row
  if (!parked || vendorId === null) throw new AppError('ask_unknown', { id: row.id, ask: parked?.ask_id ?? '' })
  const { store, clock } = supervisor.deps
  const ready = await prepareResumed(row, env, supervisor)
  if (!supervisor.deps.terminals.isAttached(row.id)) refuseUngatedAgent(ready)
  const lost = await restoreIfLost(
    { row, driver: ready.driver, env: ready.open.env, manifest: ready.manifest },
    supervisor,
  )
  await waitUntilFree(row.id, parked, supervisor)
  await refuseWithSurvivors(row.id, supervisor)
  refuseWhenClosed(supervisor)
  // From here to `launch` nothing is awaited before the session counts as live. What happened to the row while this was
  // prepared (another answer, a stop) is seen by `claimParked`.
  const resume = lost ? undefined : { vendorId, fork: false }
  using _held = supervisor.conversations.take(resume, supervisor.sessions.all())
  const patch = {
    ...resumedRow(supervisor, ready.account),
    ...(lost && { parked: { ...parked, taken: true as const } }),
  }
  const { events = [], ...start } = startWith({ parked: patch.parked ?? parked, said, lost }, row.id)
  const claim = () => claimParked({ store, clock }, { id: row.id, parked, said: settled ? undefined : said, patch })
  const answered = await supervisor.sessions.launch({ ...row, ...patch }, ready, { ...start, resume, claim }).saved
  crashPoint('answer.after-settle')
  await store.append(events)
  return answered
}

interface ParkedStart {
  parked: Parked
  said: EscalationAnswer
  /** Where the conversation is gone: what a new one is told of it. */
  lost: RestoredSession | undefined
}

/** The call that waits gets the answer; where there is no such call any more it is told in words. */
function startWith({ parked, said, lost }: ParkedStart, session: string): SessionLaunch & { events?: NewEvent[] } {
  if (!parked.taken) return { answer: givenAnswer(parked, said) }
  const { prompt, events, ...told } = answerAsPrompt(parked, said, session)
  if (!lost) return { prompt, events, ...told }
  const notes = lost.notes.map(text => ({
    ...{ actor: 'daemon', subject: session, kind: 'session.noted' as const, body: { text } },
  }))
  return { ...told, prompt: `${lost.prompt}\n\n${prompt}`, events: [...notes, ...events] }
}

/** An agent's record of a conversation may be gone, or damaged: then nothing waits in it. */
async function restoreIfLost(
  what: RestoreRequest,
  supervisor: SupervisorContext,
): Promise<RestoredSession | undefined> {
  return (await hasConversation(what)) ? undefined : restore(what, supervisor.deps)
}

/** The row of a session that this daemon takes up. */
export function resumedRow({ bootId }: SupervisorContext, account: string): Partial<SessionRow> {
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
async function waitUntilFree(
  id: string,
  { ask_id, number }: Parked,
  { sessions, deps }: SupervisorContext,
): Promise<void> {
  for (let held = sessions.get(id); held; held = sessions.get(id)) {
    const taken =
      held.live.row.state !== 'ended' &&
      (await held.saved.then(
        () => true,
        () => false,
      ))
    if (taken) {
      const escalation = number === undefined ? undefined : await deps.store.escalations.get(number)
      throw escalation ? lateAnswerError(escalation) : new AppError('ask_unknown', { id, ask: ask_id })
    }
    await held.done
  }
}

interface ParkedClaim {
  id: string
  parked: Pick<Parked, 'ask_id' | 'number'>
  /** What settles the decision; absent where it was settled before and only has to be brought to the agent. */
  said: EscalationAnswer | undefined
  patch: Partial<SessionRow>
}

/**
 * Takes a parked session, if it is still parked on that very question, and settles the decision in the same transaction: of
 * two answers, or of an answer and a stop, one wins.
 */
export async function claimParked(
  deps: { store: Store; clock: Clock },
  { id, parked, said, patch }: ParkedClaim,
): Promise<AnsweredEscalation | undefined> {
  const { store } = deps
  return store.transaction(async tx => {
    crashPoint('answer.before-settle')
    // First, because it tells who was quicker.
    const settled = said && parked.number ? await openEscalations(deps).settle(parked.number, said, tx) : undefined
    const row = await store.sessions.get(id, tx)
    if (row?.state !== 'ended' || row.parked?.ask_id !== parked.ask_id) {
      throw new AppError('ask_unknown', { id, ask: parked.ask_id })
    }
    await store.sessions.update(id, patch, tx)
    return settled
  })
}

type PromptStart = SessionLaunch & { prompt: string; events: NewEvent[] }

/**
 * How a parked session begins whose call cannot be answered itself any more: the agent took an answer but its login failed
 * before the model heard it, or it gave the call up. The next prompt tells what was said.
 */
function answerAsPrompt(parked: Parked, said: EscalationAnswer, subject: string): PromptStart {
  if (isPermission(parked)) {
    return { prompt: permissionInWords(parked, said), answer: givenAnswer(parked, said), events: [] }
  }
  const answer = answersByQuestion(parked.questions, said)
  return { prompt: questionInWords(parked, answer), answeredQuestion: parked, events: [answeredInWords(subject, parked, answer)] }
}

/** What was allowed is asked for once more, since nobody but the agent can make the call. */
function permissionInWords({ tool, target }: ParkedPermission, { verdict, reason }: EscalationAnswer): string {
  const about = `About the call that waited for a person (${tool}: ${target}): `
  if (verdict === 'allow') return `${about}it was approved. Make exactly that call again now, then go on with the task.`
  return `${about}${reason ?? 'a person said no'}. Go on with the task without it.`
}

function questionInWords({ questions }: ParkedQuestion, answer: Answer): string {
  if ('declined' in answer) return `About your question: ${answer.declined}. Go on with the task.`
  const lines = questions.map(
    ({ question }) => `- ${question} ${[answer.answers[question] ?? '(no answer)'].flat().join(', ')}`,
  )
  return `The answers to your questions are:\n${lines.join('\n')}\nThey count in place of earlier ones. Go on with the task.`
}

/** What is stored of it. */
function answeredInWords(subject: string, { call_id }: ParkedQuestion, answer: Answer): NewEvent {
  const told = 'answers' in answer ? { answers: answer.answers } : { answers: {}, declined: answer.declined }
  return { actor: 'human', subject, kind: 'question.answered', body: { call_id, ...told, by: answer.by } }
}
