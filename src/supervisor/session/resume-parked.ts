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
  /** The escalation is settled already; the answer only has to reach the agent. */
  settled?: boolean
  env: Record<string, string>
}

/**
 * Starts a parked session again: the parked call gets the answer, which settles the escalation. An answer that settled it
 * earlier (in an earlier life of the daemon, or before a limit) is only delivered to the agent.
 */
export async function resumeParked(
  row: SessionRow,
  { said: answer, settled, env }: ResumeParkedOptions,
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
  // From here to `launch` nothing is awaited before the session counts as live. `claimParked` notices what happened to the
  // row meanwhile (another answer, a stop).
  const resume = lost ? undefined : { vendorId, fork: false }
  using _held = supervisor.conversations.take(resume, supervisor.sessions.all())
  const patch = {
    ...resumedRow(supervisor, ready.account),
    ...(lost && { parked: { ...parked, taken: true as const } }),
  }
  const { events = [], ...start } = startWith({ parked: patch.parked ?? parked, answer, lost }, row.id)
  const claim = () => claimParked({ store, clock }, { id: row.id, parked, said: settled ? undefined : answer, patch })
  const answered = await supervisor.sessions.launch({ ...row, ...patch }, ready, { ...start, resume, claim }).saved
  crashPoint('answer.after-settle')
  await store.append(events)
  return answered
}

interface ParkedStart {
  parked: Parked
  answer: EscalationAnswer
  /** Set where the conversation is gone: how a new one begins. */
  lost: RestoredSession | undefined
}

/** The parked call gets the answer; where that call is gone, the next prompt gives the answer in words. */
function startWith({ parked, answer, lost }: ParkedStart, session: string): SessionLaunch & { events?: NewEvent[] } {
  if (!parked.taken) return { answer: givenAnswer(parked, answer) }
  const { prompt, events, ...launch } = answerAsPrompt(parked, answer, session)
  if (!lost) return { prompt, events, ...launch }
  const notes = lost.notes.map(text => ({
    ...{ actor: 'daemon', subject: session, kind: 'session.noted' as const, body: { text } },
  }))
  return { ...launch, prompt: `${lost.prompt}\n\n${prompt}`, events: [...notes, ...events] }
}

/** An agent's record of a conversation may be gone or damaged: then no call waits in it. */
async function restoreIfLost(
  request: RestoreRequest,
  supervisor: SupervisorContext,
): Promise<RestoredSession | undefined> {
  return (await hasConversation(request)) ? undefined : restore(request, supervisor.deps)
}

/** The changes to the row of a session that this daemon resumes. */
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

/** Resolves when the session is not live: its agent has left, or another resume failed to claim it. */
async function waitUntilFree(
  id: string,
  { ask_id, number }: Parked,
  { sessions, deps }: SupervisorContext,
): Promise<void> {
  for (let launched = sessions.get(id); launched; launched = sessions.get(id)) {
    const isResumed =
      launched.live.row.state !== 'ended' &&
      (await launched.saved.then(
        () => true,
        () => false,
      ))
    if (isResumed) {
      const escalation = number === undefined ? undefined : await deps.store.escalations.get(number)
      throw escalation ? lateAnswerError(escalation) : new AppError('ask_unknown', { id, ask: ask_id })
    }
    await launched.done
  }
}

interface ParkedClaim {
  id: string
  parked: Pick<Parked, 'ask_id' | 'number'>
  /** The answer that settles the escalation; absent if it was settled before and the answer only has to reach the agent. */
  said: EscalationAnswer | undefined
  patch: Partial<SessionRow>
}

/**
 * Claims a parked session, if it is still parked on that very question, and settles the escalation in the same transaction:
 * of two answers, or of an answer and a stop, only one succeeds.
 */
export async function claimParked(
  deps: { store: Store; clock: Clock },
  { id, parked, said: answer, patch }: ParkedClaim,
): Promise<AnsweredEscalation | undefined> {
  const { store } = deps
  return store.transaction(async tx => {
    crashPoint('answer.before-settle')
    // This comes first: its error says which answer came earlier.
    const settled = answer && parked.number ? await openEscalations(deps).settle(parked.number, answer, tx) : undefined
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
 * How a parked session begins when its call can no longer be answered: the agent took an answer but its login failed before
 * the model heard it, or the agent gave up the call. The next prompt gives the answer.
 */
function answerAsPrompt(parked: Parked, given: EscalationAnswer, subject: string): PromptStart {
  if (isPermission(parked)) {
    return { prompt: permissionInWords(parked, given), answer: givenAnswer(parked, given), events: [] }
  }
  const answer = answersByQuestion(parked.questions, given)
  return {
    prompt: questionInWords(parked, answer),
    answeredQuestion: parked,
    events: [answeredInWords(subject, parked, answer)],
  }
}

/** The agent is asked to make an approved call again, since nobody else can make it. */
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

/** The event of an answer that was given in words. */
function answeredInWords(subject: string, { call_id }: ParkedQuestion, answer: Answer): NewEvent {
  const values = 'answers' in answer ? { answers: answer.answers } : { answers: {}, declined: answer.declined }
  return { actor: 'human', subject, kind: 'question.answered', body: { call_id, ...values, by: answer.by } }
}
